// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestRebootRaisesItsCounter(t *testing.T) {
	d := newDesk(t)
	d.host("r12", func(h *infrav1.RepaveHost) { h.Spec.Operations.RebootCounter = 2 })
	d.play("r12", func(h *infrav1.RepaveHost) { h.Status.Operations.RebootCounter = 5 })

	out, errOut, status := d.run("reboot", "r12")
	d.Expect(status).To(Equal(exitDone), errOut)
	d.Expect(out).To(Equal("r12: asked for reboot 6\n"), "above what was acknowledged, though spec is behind")
	d.Expect(errOut).To(BeEmpty())
	d.Expect(d.get("r12").Spec.Operations).To(Equal(infrav1.Counters{RebootCounter: 6}))

	d.play("r12", func(h *infrav1.RepaveHost) {
		h.Status.Operation = running(infrav1.OperationReboot, 6, infrav1.StepProving)
	})
	out, _, status = d.run("reboot", "r12")
	d.Expect(status).To(Equal(exitDone))
	d.Expect(out).To(Equal("r12: asked for reboot 7 (after the reboot that is in flight)\n"))
}

// TestTwoPeopleGetTwoNumbers: counters are raised under an optimistic lock.
func TestTwoPeopleGetTwoNumbers(t *testing.T) {
	d := newDesk(t)
	d.host("r12")
	const people = 4
	calls := make([]*call, people)
	for i := range calls {
		calls[i] = d.start(t.Context(), "reboot", "r12")
	}
	said := map[string]bool{}
	for _, c := range calls {
		d.Eventually(c.status, "30s").Should(Receive(Equal(exitDone)), c.errOut.String())
		said[c.out.String()] = true
	}
	d.Expect(said).To(HaveLen(people))
	d.Expect(d.get("r12").Spec.Operations.RebootCounter).To(BeEquivalentTo(people))
}

func TestRebootWaitsForTheProof(t *testing.T) {
	d := newDesk(t)
	d.host("r12")
	c := d.start(t.Context(), "reboot", "r12", "--wait")
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("r12: reboot 1 waits\n"))
	d.play("r12", func(h *infrav1.RepaveHost) {
		h.Status.Operation = running(infrav1.OperationReboot, 1, infrav1.StepPoweringOn)
	})
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("r12: reboot 1: PoweringOn, attempt 1\n"))
	d.Expect(c.status).NotTo(Receive(), "an operation under way is not a proof")
	d.play("r12", func(h *infrav1.RepaveHost) { h.Status.Operation, h.Status.Operations.RebootCounter = nil, 1 })
	d.Eventually(c.status, "30s").Should(Receive(Equal(exitDone)), c.errOut.String())
	d.Expect(c.out.String()).To(HaveSuffix("r12: reboot 1 proven\n"))
}

func TestWaitEndsForEveryHost(t *testing.T) {
	d := newDesk(t)
	d.host("r1")
	d.host("r2")
	c := d.start(t.Context(), "reboot", "r1", "r2", "--wait")
	d.Eventually(c.out.String, "30s", "10ms").Should(And(ContainSubstring("r1: reboot 1 waits"), ContainSubstring("r2: reboot 1 waits")))
	d.play("r1", func(h *infrav1.RepaveHost) {
		h.Status.Operation = running(infrav1.OperationReboot, 1, infrav1.StepGaveUp)
		h.Status.Operation.Message = "attempt 3: TimedOut: no other boot was seen"
	})
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("r1: reboot 1 failed"))
	d.Expect(c.status).NotTo(Receive(), "one that failed does not end the wait for the other")
	d.play("r2", func(h *infrav1.RepaveHost) { h.Status.Operations.RebootCounter = 1 })
	d.Eventually(c.status, "30s").Should(Receive(Equal(exitFailed)))
	d.Expect(c.errOut.String()).To(Equal("error: r1: reboot 1 failed: reboot 1 was given up after 1 attempts: attempt 3: TimedOut: no other boot was seen\n"))
}

func TestWaitTellsWhatAPersonMustAdd(t *testing.T) {
	d := newDesk(t)
	d.host("r12", func(h *infrav1.RepaveHost) { h.Spec.RootDevice = nil })
	c := d.start(t.Context(), "repave", "r12", "--yes", "--wait")
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("repave 1 waits"))
	d.Expect(c.errOut.String()).To(Equal("warning: r12: spec.rootDevice does not say which disk may be written; the controller begins no repave without it\n"))
	d.play("r12", func(h *infrav1.RepaveHost) {
		h.Status.Conditions = []metav1.Condition{{
			Type: infrav1.ConditionReady, Status: metav1.ConditionFalse, Reason: infrav1.ReasonRootDeviceMissing,
			Message: "repave 1 is not begun", LastTransitionTime: metav1.Now(),
		}}
	})
	d.Eventually(c.status, "30s").Should(Receive(Equal(exitFailed)))
	d.Expect(c.errOut.String()).To(HaveSuffix("error: r12: repave 1 failed: RootDeviceMissing: repave 1 is not begun\n"))
}

func TestWaitEndsWhenItsTimeIsOver(t *testing.T) {
	d := newDesk(t)
	d.host("r12")
	_, errOut, status := d.run("reboot", "r12", "--wait", "--timeout", "300ms")
	d.Expect(status).To(Equal(exitTimedOut))
	d.Expect(errOut).To(ContainSubstring("what was asked for stays asked for"))
	d.Expect(d.get("r12").Spec.Operations.RebootCounter).To(BeEquivalentTo(1))
}

func TestWaitEndsOnInterrupt(t *testing.T) {
	d := newDesk(t)
	d.host("r12")
	ctx, interrupt := context.WithCancel(t.Context())
	c := d.start(ctx, "reboot", "r12", "--wait")
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("reboot 1 waits"))
	interrupt()
	d.Eventually(c.status, "30s").Should(Receive(Equal(exitFailed)))
	d.Expect(c.errOut.String()).To(ContainSubstring("interrupted"))
}

func TestWaitEndsWhenTheHostGoes(t *testing.T) {
	d := newDesk(t)
	host := d.host("r12")
	c := d.start(t.Context(), "reboot", "r12", "--wait")
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("reboot 1 waits"))
	d.Expect(d.client.Delete(t.Context(), host)).To(Succeed())
	d.Eventually(c.status, "30s").Should(Receive(Equal(exitFailed)))
	d.Expect(c.errOut.String()).To(ContainSubstring("the host was deleted"))
}

func TestRepaveAsksBeforeItWipes(t *testing.T) {
	for _, c := range []struct {
		name        string
		interactive bool
		answers     string
		args        []string
		status      int
		says        string
		asked       int64
	}{
		{name: "no terminal and no --yes", status: exitFailed, says: "pass --yes"},
		{name: "no terminal and --yes", args: []string{"--yes"}, asked: 1},
		{name: "the name is typed", interactive: true, answers: "r12\n", says: "This wipes the disk of r12.", asked: 1},
		{name: "another name is typed", interactive: true, answers: "r13\n", status: exitFailed, says: "nothing was asked for"},
		{name: "yes is not a name", interactive: true, answers: "yes\n", status: exitFailed, says: "nothing was asked for"},
		{name: "nothing is typed", interactive: true, status: exitFailed, says: "nothing was asked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.answers, d.interactive = c.answers, c.interactive
			d.host("r12")
			_, errOut, status := d.run(append([]string{"repave", "r12"}, c.args...)...)
			d.Expect(status).To(Equal(c.status), errOut)
			d.Expect(errOut).To(ContainSubstring(c.says))
			d.Expect(d.get("r12").Spec.Operations).To(Equal(infrav1.Counters{RepaveCounter: c.asked}))
		})
	}
}

// TestAMistypedNameChangesNothing: the hosts named before it are left alone too.
func TestAMistypedNameChangesNothing(t *testing.T) {
	d := newDesk(t)
	d.host("r1")
	_, errOut, status := d.run("reboot", "r1", "r9")
	d.Expect(status).To(Equal(exitFailed))
	d.Expect(errOut).To(ContainSubstring(`reading host r9`))
	d.Expect(d.get("r1").Spec.Operations).To(Equal(infrav1.Counters{}))
}
