// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const image = "registry.example/netboot@sha256:aa"

// host is one that can be repaved, whose counters are asked for up to 4 and acknowledged up to 3.
func host(change func(*infrav1.RepaveHost)) *infrav1.RepaveHost {
	h := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Name: "r12", Generation: 7}}
	h.Spec.BMC, h.Spec.RootDevice = &infrav1.BMC{}, &infrav1.RootDevice{}
	h.Spec.Desired = &infrav1.HostDesired{Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: image}}}
	h.Spec.Operations = infrav1.Counters{RebootCounter: 4, RepaveCounter: 4}
	h.Status.Operations = infrav1.Counters{RebootCounter: 3, RepaveCounter: 3}
	h.Status.ObservedGeneration = 7
	if change != nil {
		change(h)
	}
	return h
}

func says(reason, message string) func(*infrav1.RepaveHost) {
	return func(h *infrav1.RepaveHost) {
		h.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Reason: reason, Message: message}}
	}
}

func doing(op infrav1.Operation) func(*infrav1.RepaveHost) {
	return func(h *infrav1.RepaveHost) { h.Status.Operation = &op }
}

func TestOf(t *testing.T) {
	reboot, repave := Ask{infrav1.OperationReboot, 4}, Ask{infrav1.OperationRepave, 4}
	gaveUp := func(kind infrav1.OperationKind, counter int64) infrav1.Operation {
		return infrav1.Operation{Kind: kind, Counter: counter, Step: infrav1.StepGaveUp, Attempt: 3, Digest: "sha256:aa", Message: "TimedOut"}
	}
	for _, c := range []struct {
		name string
		host *infrav1.RepaveHost
		ask  Ask
		want Verdict
	}{
		{"not seen yet: waits", host(nil), reboot, Verdict{Running, "r12: reboot 4 waits"}},
		{"under way", host(doing(infrav1.Operation{Kind: infrav1.OperationReboot, Counter: 4, Step: infrav1.StepProving, Attempt: 2, Message: "attempt 1: TimedOut"})), reboot,
			Verdict{Running, "r12: reboot 4: Proving, attempt 2: attempt 1: TimedOut"}},
		{"after another operation", host(doing(infrav1.Operation{Kind: infrav1.OperationRepave, Counter: 4, Step: infrav1.StepInstalling, Attempt: 1})), reboot,
			Verdict{Running, "r12: reboot 4 waits for repave 4: Installing, attempt 1"}},
		{"after the first install", host(doing(infrav1.Operation{Kind: infrav1.OperationRepave, Step: infrav1.StepInstalling, Attempt: 1})), reboot,
			Verdict{Running, "r12: reboot 4 waits for the install of the claim: Installing, attempt 1"}},
		{"acknowledged", host(func(h *infrav1.RepaveHost) { h.Status.Operations.RebootCounter = 4 }), reboot, Verdict{Proven, "r12: reboot 4 proven"}},
		{"acknowledged further", host(func(h *infrav1.RepaveHost) { h.Status.Operations.RebootCounter = 9 }), reboot, Verdict{Proven, "r12: reboot 4 proven"}},
		{"the other counter proves nothing", host(func(h *infrav1.RepaveHost) { h.Status.Operations.RepaveCounter = 4 }), reboot, Verdict{Running, "r12: reboot 4 waits"}},
		{"given up", host(func(h *infrav1.RepaveHost) {
			doing(gaveUp(infrav1.OperationReboot, 4))(h)
			h.Spec.Operations.RepaveCounter = 3
		}), reboot, Verdict{Failed, "r12: reboot 4 failed: reboot 4 was given up after 3 attempts: TimedOut"}},
		{"the one before was given up: starts over", host(doing(gaveUp(infrav1.OperationReboot, 3))), reboot,
			Verdict{Running, "r12: reboot 4 waits for reboot 3: GaveUp, attempt 3: TimedOut"}},
		{"a repave starts over where a reboot was given up", host(doing(gaveUp(infrav1.OperationReboot, 4))), repave,
			Verdict{Running, "r12: repave 4 waits for reboot 4: GaveUp, attempt 3: TimedOut"}},
		{"but not one that cannot be", host(func(h *infrav1.RepaveHost) {
			doing(gaveUp(infrav1.OperationReboot, 4))(h)
			h.Spec.RootDevice = nil
		}), repave, Verdict{Failed, "r12: repave 4 failed: reboot 4 was given up after 3 attempts: TimedOut"}},
		{"a repave that was given up blocks a reboot", host(doing(gaveUp(infrav1.OperationRepave, 4))), reboot,
			Verdict{Failed, "r12: reboot 4 failed: repave 4 was given up after 3 attempts: TimedOut"}},
		{"a given up repave starts over for another image", host(func(h *infrav1.RepaveHost) {
			doing(gaveUp(infrav1.OperationRepave, 4))(h)
			h.Status.Operation.Digest = "sha256:bb"
		}), repave, Verdict{Running, "r12: repave 4: GaveUp, attempt 3: TimedOut"}},
		{"nothing to install", host(says(infrav1.ReasonNoNetbootImage, "none")), repave, Verdict{Failed, "r12: repave 4 failed: NoNetbootImage: none"}},
		{"a reason from before the counter was raised", host(func(h *infrav1.RepaveHost) {
			says(infrav1.ReasonNoPowerControl, "old")(h)
			h.Status.ObservedGeneration = 6
		}), reboot, Verdict{Running, "r12: reboot 4 waits (NoPowerControl)"}},
		{"trouble that may pass is waited for", host(says(infrav1.ReasonUnreachable, "no route")), reboot, Verdict{Running, "r12: reboot 4 waits (Unreachable)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Of(c.host, c.ask)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNextIsAboveBoth(t *testing.T) {
	h := host(func(h *infrav1.RepaveHost) { h.Status.Operations.RepaveCounter = 9 })
	for kind, want := range map[infrav1.OperationKind]int64{infrav1.OperationReboot: 5, infrav1.OperationRepave: 10} {
		if got := Next(h, kind); got != (Ask{kind, want}) {
			t.Errorf("Next(%s) = %v, want %d", kind, got, want)
		}
	}
}

func TestObstacle(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   infrav1.OperationKind
		change func(*infrav1.RepaveHost)
		want   string // substring; empty: nothing is missing
	}{
		{"all there", infrav1.OperationRepave, nil, ""},
		{"no BMC", infrav1.OperationReboot, func(h *infrav1.RepaveHost) { h.Spec.BMC = nil }, "no BMC"},
		{"no disk", infrav1.OperationRepave, func(h *infrav1.RepaveHost) { h.Spec.RootDevice = nil }, "spec.rootDevice"},
		{"a reboot needs no disk", infrav1.OperationReboot, func(h *infrav1.RepaveHost) { h.Spec.RootDevice = nil }, ""},
		{"no image", infrav1.OperationRepave, func(h *infrav1.RepaveHost) { h.Spec.Desired = nil }, "no netboot image"},
	} {
		if got := Obstacle(host(c.change), c.kind); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOfPool(t *testing.T) {
	for _, c := range []struct {
		name      string
		condition metav1.Condition
		observed  int64
		want      State
	}{
		{"done", metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.ReasonAllUpdated}, 2, Proven},
		{"done with what was wanted before", metav1.Condition{Status: metav1.ConditionTrue, Reason: infrav1.ReasonAllUpdated}, 1, Running},
		{"halted", metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.ReasonHalted, Message: "1 failed"}, 2, Failed},
		{"halted before the change", metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.ReasonHalted}, 1, Running},
		{"paused", metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.ReasonRolloutPaused}, 2, Running},
	} {
		p := &infrav1.RepaveMachinePool{ObjectMeta: metav1.ObjectMeta{Name: "workers", Generation: 2}}
		c.condition.Type = infrav1.ConditionUpToDate
		p.Status.Conditions, p.Status.ObservedGeneration = []metav1.Condition{c.condition}, c.observed
		if got := OfPool(p); got.State != c.want {
			t.Errorf("%s: %+v, want %v", c.name, got, c.want)
		}
	}
}

func TestScreen(t *testing.T) {
	story := func(s *Screen) {
		s.Show("a", "a: 1")
		s.Show("a", "a: 1") // says nothing new
		s.Show("b", "b: 1")
		s.Show("a", "a: 2")
	}
	var lines, terminal strings.Builder
	story(&Screen{Out: &lines})
	story(&Screen{Out: &terminal, Fit: func(l string) string { return l[:4] }})
	if diff := cmp.Diff("a: 1\nb: 1\na: 2\n", lines.String()); diff != "" {
		t.Errorf("in lines (-want +got)\n%s", diff)
	}
	const wipe = "\r\x1b[2K"
	want := wipe + "a: 1\n" + "\x1b[1A" + wipe + "a: 1\n" + wipe + "b: 1\n" + "\x1b[2A" + wipe + "a: 2\n" + wipe + "b: 1\n"
	if diff := cmp.Diff(want, terminal.String()); diff != "" {
		t.Errorf("on a terminal (-want +got)\n%s", diff)
	}
}
