// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
)

func ready(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
}

func TestHosts(t *testing.T) {
	d := newDesk(t)
	d.host("r1", func(h *infrav1.RepaveHost) { h.Labels = map[string]string{"rack": "a"} })
	d.host("r2")
	d.play("r1", func(h *infrav1.RepaveHost) {
		h.Status.Phase, h.Status.Power = infrav1.PhaseAvailable, infrav1.PowerOff
		h.Status.Conditions = ready(metav1.ConditionTrue, infrav1.ReasonAvailable, "free")
	})
	const heading = "NAME   PHASE       MACHINE   NODE     POWER    BOOTED   STAGED   OPERATION   READY     WHY\n"
	const r1 = "r1     Available   <none>    <none>   Off      <none>   <none>   <none>      True      Available: free\n"
	const r2 = "r2     <none>      <none>    <none>   <none>   <none>   <none>   <none>      Unknown   <none>\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, heading + r1 + r2},
		{[]string{"r2", "r1"}, heading + r2 + r1},
		{[]string{"-o", "name"}, "repavehost.infrastructure.cluster.x-k8s.io/r1\nrepavehost.infrastructure.cluster.x-k8s.io/r2\n"},
		{[]string{"-l", "rack=a", "-o", "name"}, "repavehost.infrastructure.cluster.x-k8s.io/r1\n"},
	} {
		out, errOut, status := d.run(append([]string{"hosts"}, c.args...)...)
		d.Expect(status).To(Equal(exitDone), errOut)
		d.Expect(out).To(Equal(c.want), "%v", c.args)
	}
	out, errOut, status := d.run("hosts", "-l", "rack=z")
	d.Expect(status).To(Equal(exitDone))
	d.Expect(out).To(BeEmpty())
	d.Expect(errOut).To(Equal("No hosts found.\n"))
	_, errOut, status = d.run("hosts", "r9")
	d.Expect(status).To(Equal(exitFailed))
	d.Expect(errOut).To(ContainSubstring(`no host "r9" found`))
	out, _, _ = d.run("hosts", "-A")
	d.Expect(out).To(HavePrefix("NAMESPACE"))
	d.Expect(out).To(ContainSubstring(d.namespace + "   r1 "))
	_, errOut, status = d.run("hosts", "-o", "csv")
	d.Expect(status).To(Equal(exitFailed))
	d.Expect(errOut).To(ContainSubstring("csv"))
}

func TestHostsAsJSONAndYAML(t *testing.T) {
	d := newDesk(t)
	d.host("r1")
	out, _, _ := d.run("hosts", "-o", "json")
	var list infrav1.RepaveHostList
	d.Expect(json.Unmarshal([]byte(out), &list)).To(Succeed())
	d.Expect(list.Kind).To(Equal("RepaveHostList"))
	d.Expect(list.Items).To(HaveLen(1))
	d.Expect(list.Items[0].Kind).To(Equal("RepaveHost"))
	d.Expect(out).NotTo(ContainSubstring("managedFields"))
	out, _, _ = d.run("hosts", "r1", "-o", "yaml")
	d.Expect(out).To(And(HavePrefix("apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1\nkind: RepaveHost\n"), ContainSubstring("address: https://10.0.0.7")))
}

func TestHostsWatch(t *testing.T) {
	d := newDesk(t)
	r1 := d.host("r1")
	ctx, interrupt := context.WithCancel(t.Context())
	c := d.start(ctx, "hosts", "--watch")
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("r1 "))
	d.play("r1", func(h *infrav1.RepaveHost) { h.Status.Phase = infrav1.PhaseRebooting })
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("Rebooting"))
	d.Expect(d.client.Delete(t.Context(), r1)).To(Succeed())
	d.Eventually(c.out.String, "30s", "10ms").Should(ContainSubstring("Deleted"))
	interrupt()
	d.Eventually(c.status, "30s").Should(Receive())
	d.Expect(strings.Count(c.out.String(), "NAME")).To(Equal(1), "one heading")
	d.Expect(strings.Count(c.out.String(), "\n")).To(Equal(4), "nothing is shown twice:\n%s", c.out)
}

func TestDescribe(t *testing.T) {
	d := newDesk(t)
	d.host("r1")
	d.play("r1", func(h *infrav1.RepaveHost) {
		h.Status.Operation = running(infrav1.OperationRepave, 1, infrav1.StepInstalling)
		h.Status.Conditions = ready(metav1.ConditionFalse, infrav1.ReasonRepaving, "repave 1")
	})
	out, errOut, status := d.run("host", "describe", "r1")
	d.Expect(status).To(Equal(exitDone), errOut)
	for _, part := range []string{"Host r1\n", "Why:        Repaving: repave 1", "In flight:  Repave op-1 by Power", "Step:       Installing, attempt 1", "\nBMC\n", "\nConditions\n"} {
		d.Expect(out).To(ContainSubstring(part))
	}
}

func (d *desk) machinePool(name string) *infrav1.RepaveMachinePool {
	d.t.Helper()
	pool := &infrav1.RepaveMachinePool{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.namespace}}
	pool.Spec.Template.Spec.Netboot = &infrav1.Netboot{Image: infrav1.Image{Ref: netbootImage}}
	d.Expect(d.client.Create(d.t.Context(), pool)).To(Succeed())
	d.rollout(pool, metav1.ConditionFalse, infrav1.ReasonRolloutInProgress, "0/1 updated; 1 staging")
	return pool
}

// rollout is the Pool controller.
func (d *desk) rollout(pool *infrav1.RepaveMachinePool, status metav1.ConditionStatus, reason, message string) {
	d.t.Helper()
	before := client.MergeFrom(pool.DeepCopy())
	pool.Status.ObservedGeneration, pool.Status.Selector = pool.Generation, "pool="+pool.Name
	pool.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionUpToDate, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
	d.Expect(d.client.Status().Patch(d.t.Context(), pool, before)).To(Succeed())
}

func TestPoolStatus(t *testing.T) {
	d := newDesk(t)
	_, errOut, status := d.run("pool", "status")
	d.Expect(status).To(Equal(exitFailed))
	d.Expect(errOut).To(ContainSubstring("no pools in namespace " + d.namespace))
	d.machinePool("workers")
	for _, name := range []string{"workers-2", "workers-1", "stranger"} {
		machine := &infrav1.RepaveMachine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.namespace, Labels: map[string]string{"pool": strings.TrimRight(name, "-12")}}}
		machine.Spec.Netboot = &infrav1.Netboot{Image: infrav1.Image{Ref: netbootImage}}
		d.Expect(d.client.Create(t.Context(), machine)).To(Succeed())
	}
	for _, args := range [][]string{{}, {"workers"}} {
		out, errOut, status := d.run(append([]string{"pool", "status"}, args...)...)
		d.Expect(status).To(Equal(exitDone), errOut)
		d.Expect(out).To(MatchRegexp(`(?s)Pool workers.*RolloutInProgress: 0/1 updated; 1 staging.*MACHINE.*\nworkers-1 .*\nworkers-2 `))
		d.Expect(out).NotTo(ContainSubstring("stranger"))
	}
	d.machinePool("others")
	out, _, _ := d.run("pool", "status")
	d.Expect(out).To(MatchRegexp(`(?s)^NAME .*\nothers .*\nworkers `))
	_, errOut, status = d.run("pool", "status", "--wait")
	d.Expect(status).To(Equal(exitFailed))
	d.Expect(errOut).To(ContainSubstring("name the one to wait for"))
}

func TestPoolStatusWaits(t *testing.T) {
	for _, c := range []struct {
		name    string
		truth   metav1.ConditionStatus
		reason  string
		message string
		want    int
	}{
		{"done", metav1.ConditionTrue, infrav1.ReasonAllUpdated, "1/1 updated", exitDone},
		{"halted", metav1.ConditionFalse, infrav1.ReasonHalted, "1 failed, maxFailed is 1", exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			pool := d.machinePool("workers")
			run := d.start(t.Context(), "pool", "status", "workers", "--wait")
			d.Eventually(run.out.String, "30s", "10ms").Should(ContainSubstring("workers: RolloutInProgress: 0/1 updated; 1 staging\n"))
			d.rollout(pool, c.truth, c.reason, c.message)
			d.Eventually(run.status, "30s").Should(Receive(Equal(c.want)), run.errOut.String())
			d.Expect(run.out.String()).To(And(ContainSubstring("workers: "+c.reason+": "+c.message+"\n"), ContainSubstring("Pool workers\n")))
		})
	}
	d := newDesk(t)
	d.machinePool("workers")
	_, errOut, status := d.run("pool", "status", "workers", "--wait", "--timeout", "300ms")
	d.Expect(status).To(Equal(exitTimedOut), errOut)
}

func TestCompletion(t *testing.T) {
	d := newDesk(t)
	d.host("r1")
	d.host("r2")
	d.machinePool("workers")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"reboot", ""}, "r1\nr2\n:4\n"},
		{[]string{"repave", "r1", ""}, "r2\n:4\n"},
		{[]string{"host", "describe", "r1", ""}, ":4\n"},
		{[]string{"pool", "status", ""}, "workers\n:4\n"},
	} {
		run := d.execute(t.Context(), append([]string{"__complete", "--kubeconfig", d.kubeconfig, "--namespace", d.namespace}, c.args...))
		d.Eventually(run.status, "30s").Should(Receive(Equal(exitDone)))
		d.Expect(run.out.String()).To(Equal(c.want), "%v", c.args)
	}
}

// TestNotInstalled: a cluster without the CRDs is told apart from one without hosts.
func TestNotInstalled(t *testing.T) {
	g := NewWithT(t)
	empty, err := lab.StartControlPlane(t.Context(), lab.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(empty.Stop()).To(Succeed()) }()
	d := &desk{WithT: g, t: t, kubeconfig: empty.Kubeconfig(), namespace: "default"}
	for _, args := range [][]string{{"hosts"}, {"reboot", "r1"}, {"pool", "status"}, {"host", "describe", "r1"}} {
		_, errOut, status := d.run(args...)
		g.Expect(status).To(Equal(exitFailed))
		g.Expect(errOut).To(ContainSubstring("Repave is not installed in this cluster"), "%v", args)
	}
}

func TestVersionAndHelp(t *testing.T) {
	d := &desk{WithT: NewWithT(t), t: t}
	out, _, status := d.run("version")
	d.Expect(status).To(Equal(exitDone))
	d.Expect(out).To(Equal("v0.0.0-dev\n"))
	out, _, _ = d.run("--help")
	d.Expect(out).To(And(ContainSubstring("Exit statuses:"), ContainSubstring("kubectl_complete-repave"), ContainSubstring("kubectl repave [command]")))
}
