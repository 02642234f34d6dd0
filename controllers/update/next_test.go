// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const (
	old    = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	wanted = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	later  = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// staged is a machine that waits for its slot on a healthy host; the cases change what they are about.
func staged(change ...func(*View)) View {
	v := View{
		Now: now, Limits: DefaultLimits(), Wanted: wanted,
		Update: saved(infrav1.UpdateStaged, wanted, time.Minute),
		Host:   HostFacts{Connected: true, Booted: old, Staged: wanted, BootID: "before", Desired: wanted, State: infrav1.DesiredStaged},
		Node:   NodeFacts{Found: true, Ready: true, BootID: "before"},
	}
	for _, c := range change {
		c(&v)
	}
	return v
}

func saved(step infrav1.UpdateStep, digest string, age time.Duration) *infrav1.MachineUpdate {
	return &infrav1.MachineUpdate{Digest: digest, Step: step, StepAt: metav1.NewTime(now.Add(-age)), Message: "saved"}
}

func at(step infrav1.UpdateStep) func(*View) {
	return func(v *View) { v.Update.Step = step }
}

func slot(v *View) { v.Slot = wanted }

func cordoned(v *View) { v.Node.Unschedulable, v.Node.Cordoned = true, true }

func drainIs(state DrainState, message string) func(*View) {
	return func(v *View) { v.Drain = DrainFacts{State: state, Message: message} }
}

// booting is a machine whose host was asked to boot a minute ago.
func booting(change ...func(*View)) View {
	asked := func(v *View) {
		v.Update.Step, v.Update.BootID, v.Host.State = infrav1.UpdateBooting, "before", infrav1.DesiredBooted
	}
	return staged(append([]func(*View){slot, cordoned, asked}, change...)...)
}

func cameUp(v *View) {
	v.Host.Booted, v.Host.Staged, v.Host.BootID, v.Node.BootID = wanted, "", "after", "after"
}

func wentBack(v *View) {
	v.Host.BootID, v.Node.BootID = "again", "again"
	v.Host.Failure = infrav1.AgentFailure{Digest: wanted, Stage: infrav1.FailedBoot, Reason: "BootFailed", Message: "health check failed"}
}

func lookAt(age time.Duration) func(*View) {
	return func(v *View) { v.Update.StepAt = metav1.NewTime(now.Add(-age)) }
}

// outline is what the cases compare: a Step without its texts.
type outline struct {
	Step   infrav1.UpdateStep
	Effect Effect
	Reason string
	Hold   bool
}

func TestNext(t *testing.T) {
	for _, test := range []struct {
		name string
		view View
		want outline
	}{
		{
			name: "a wish begins: the host is asked to stage",
			view: staged(func(v *View) { v.Update, v.Host.Desired, v.Host.Staged = nil, old, "" }),
			want: outline{infrav1.UpdateStaging, SetDesired{wanted, infrav1.DesiredStaged}, infrav1.ReasonStaging, false},
		},
		{
			name: "staged, waiting for a slot",
			view: staged(),
			want: outline{infrav1.UpdateStaged, None{}, infrav1.ReasonWaitingForSlot, false},
		},
		{
			name: "a slot for another digest permits nothing",
			view: staged(func(v *View) { v.Slot = later }),
			want: outline{infrav1.UpdateStaged, None{}, infrav1.ReasonWaitingForSlot, false},
		},
		{
			name: "slot granted",
			view: staged(slot),
			want: outline{infrav1.UpdateDraining, None{}, infrav1.ReasonDraining, false},
		},
		{
			name: "an operation of the host keeps the slot waiting",
			view: staged(slot, func(v *View) { v.Host.Operation = true }),
			want: outline{infrav1.UpdateStaged, None{}, infrav1.ReasonWaitingForHost, false},
		},
		{
			name: "cordon first",
			view: staged(slot, at(infrav1.UpdateDraining)),
			want: outline{infrav1.UpdateDraining, Cordon{}, infrav1.ReasonDraining, false},
		},
		{
			name: "then drain, again after a restart",
			view: staged(slot, cordoned, at(infrav1.UpdateDraining)),
			want: outline{infrav1.UpdateDraining, Drain{}, infrav1.ReasonDraining, false},
		},
		{
			name: "a blocked drain says what blocks it",
			view: staged(slot, cordoned, at(infrav1.UpdateDraining), drainIs(DrainBlocked, "pods refuse")),
			want: outline{infrav1.UpdateDraining, None{}, infrav1.ReasonDrainBlocked, false},
		},
		{
			name: "an unreachable workload cluster is never drained blindly",
			view: staged(slot, at(infrav1.UpdateDraining), func(v *View) { v.Node = NodeFacts{Unreachable: true} }),
			want: outline{infrav1.UpdateDraining, None{}, infrav1.ReasonWorkloadUnreachable, false},
		},
		{
			name: "drained: boot",
			view: staged(slot, cordoned, at(infrav1.UpdateDraining), drainIs(DrainDone, "")),
			want: outline{infrav1.UpdateBooting, SetDesired{wanted, infrav1.DesiredBooted}, infrav1.ReasonBooting, true},
		},
		{
			name: "a host without a Node has nothing to drain",
			view: staged(slot, at(infrav1.UpdateDraining), func(v *View) { v.Node = NodeFacts{} }),
			want: outline{infrav1.UpdateBooting, SetDesired{wanted, infrav1.DesiredBooted}, infrav1.ReasonBooting, true},
		},
		{
			name: "the slot is withdrawn while draining",
			view: staged(cordoned, at(infrav1.UpdateDraining)),
			want: outline{infrav1.UpdateStaging, None{}, infrav1.ReasonStaging, false},
		},
		{
			name: "and then the cordon is given back",
			view: staged(cordoned, at(infrav1.UpdateStaging)),
			want: outline{infrav1.UpdateStaging, Uncordon{}, infrav1.ReasonStaging, false},
		},
		{
			name: "a crash between the intent and the boot wish: asked again",
			view: booting(func(v *View) { v.Host.State = infrav1.DesiredStaged }),
			want: outline{infrav1.UpdateBooting, SetDesired{wanted, infrav1.DesiredBooted}, infrav1.ReasonBooting, true},
		},
		{
			name: "the image runs in another boot",
			view: booting(cameUp),
			want: outline{infrav1.UpdateVerifying, None{}, infrav1.ReasonVerifying, true},
		},
		{
			name: "the digest alone in the boot from before proves nothing",
			view: booting(cameUp, func(v *View) { v.Host.BootID = "before" }),
			want: outline{infrav1.UpdateBooting, None{}, infrav1.ReasonBooting, true},
		},
		{
			name: "the boot takes too long: the wish is withdrawn",
			view: booting(lookAt(15 * time.Minute)),
			want: outline{infrav1.UpdateFailed, SetDesired{wanted, infrav1.DesiredStaged}, infrav1.ReasonVerifyTimedOut, false},
		},
		{
			name: "the host went back: the wish is withdrawn",
			view: booting(wentBack),
			want: outline{infrav1.UpdateRolledBack, SetDesired{wanted, infrav1.DesiredStaged}, infrav1.ReasonRolledBack, false},
		},
		{
			name: "then the cordon is given back",
			view: booting(wentBack, at(infrav1.UpdateRolledBack), func(v *View) { v.Host.State = infrav1.DesiredStaged }),
			want: outline{infrav1.UpdateRolledBack, Uncordon{}, infrav1.ReasonRolledBack, false},
		},
		{
			name: "but not while the Node is not back",
			view: booting(wentBack, at(infrav1.UpdateRolledBack), func(v *View) { v.Host.State, v.Node.Ready = infrav1.DesiredStaged, false }),
			want: outline{infrav1.UpdateRolledBack, None{}, infrav1.ReasonRolledBack, false},
		},
		{
			name: "an image that failed is not tried again, slot or not, status or not",
			view: staged(slot, wentBack, at(infrav1.UpdateStaging)),
			want: outline{infrav1.UpdateRolledBack, None{}, infrav1.ReasonRolledBack, false},
		},
		{
			name: "the Node still reports the boot from before",
			view: booting(cameUp, at(infrav1.UpdateVerifying), func(v *View) { v.Node.BootID = "before" }),
			want: outline{infrav1.UpdateVerifying, None{}, infrav1.ReasonVerifying, true},
		},
		{
			name: "the Node does not come back in time",
			view: booting(cameUp, at(infrav1.UpdateVerifying), lookAt(5*time.Minute), func(v *View) { v.Node.Ready = false }),
			want: outline{infrav1.UpdateFailed, SetDesired{wanted, infrav1.DesiredStaged}, infrav1.ReasonVerifyTimedOut, false},
		},
		{
			name: "a first Node may take as long as it takes",
			view: booting(cameUp, at(infrav1.UpdateVerifying), lookAt(time.Hour), func(v *View) { v.Node, v.Update.BootID, v.Host.State = NodeFacts{}, "", infrav1.DesiredStaged }),
			want: outline{infrav1.UpdateVerifying, None{}, infrav1.ReasonWaitingForNode, false},
		},
		{
			name: "proven",
			view: booting(cameUp, at(infrav1.UpdateVerifying)),
			want: outline{infrav1.UpdateUncordoning, None{}, infrav1.ReasonVerifying, false},
		},
		{
			name: "the cordon is given back",
			view: booting(cameUp, at(infrav1.UpdateUncordoning)),
			want: outline{infrav1.UpdateUncordoning, Uncordon{}, infrav1.ReasonVerifying, false},
		},
		{
			name: "a cordon of somebody else stays",
			view: booting(cameUp, at(infrav1.UpdateUncordoning), func(v *View) { v.Node.Cordoned = false }),
			want: outline{infrav1.UpdateUpToDate, None{}, infrav1.ReasonMachineUpToDate, false},
		},
		{
			name: "it came up after the deadline after all",
			view: booting(cameUp, at(infrav1.UpdateFailed), func(v *View) { v.Host.State = infrav1.DesiredStaged }),
			want: outline{infrav1.UpdateUncordoning, None{}, infrav1.ReasonVerifying, false},
		},
		{
			name: "another wish while draining: staged afresh",
			view: staged(slot, cordoned, at(infrav1.UpdateDraining), func(v *View) { v.Wanted = later }),
			want: outline{infrav1.UpdateStaging, SetDesired{later, infrav1.DesiredStaged}, infrav1.ReasonStaging, false},
		},
		{
			name: "another wish while booting waits for the end of the boot",
			view: booting(func(v *View) { v.Wanted = later }),
			want: outline{infrav1.UpdateBooting, None{}, infrav1.ReasonBooting, true},
		},
		{
			name: "another wish before the boot wish was written",
			view: booting(func(v *View) { v.Wanted, v.Host.State = later, infrav1.DesiredStaged }),
			want: outline{infrav1.UpdateStaging, SetDesired{later, infrav1.DesiredStaged}, infrav1.ReasonStaging, false},
		},
		{
			name: "a repave put another image on the host: staged afresh",
			view: staged(at(infrav1.UpdateUpToDate)),
			want: outline{infrav1.UpdateStaging, None{}, infrav1.ReasonStaging, false},
		},
		{
			name: "but not before the repave is over",
			view: staged(at(infrav1.UpdateUpToDate), func(v *View) { v.Host.Operation = true }),
			want: outline{infrav1.UpdateUpToDate, None{}, infrav1.ReasonMachineUpToDate, false},
		},
		{
			name: "a repave begins: the boot wish of before must not meet the fresh install",
			view: booting(cameUp, at(infrav1.UpdateUpToDate), func(v *View) { v.Host.Operation, v.Node.Unschedulable, v.Node.Cordoned = true, false, false }),
			want: outline{infrav1.UpdateUpToDate, SetDesired{wanted, infrav1.DesiredStaged}, infrav1.ReasonMachineUpToDate, false},
		},
		{
			name: "netboot only: installed",
			view: staged(func(v *View) { v.Update, v.Wanted, v.Netboot, v.Host.Installed = nil, "", wanted, wanted }),
			want: outline{infrav1.UpdateUpToDate, None{}, infrav1.ReasonMachineUpToDate, false},
		},
		{
			name: "netboot only: another image waits for the next repave",
			view: staged(func(v *View) { v.Update, v.Wanted, v.Netboot, v.Host.Installed = nil, "", later, wanted }),
			want: outline{infrav1.UpdateStaging, None{}, infrav1.ReasonWaitingForRepave, false},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			step := Next(test.view)
			got := outline{step.Update.Step, step.Effect, step.Reason, step.Hold}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("step (-want +got):\n%s\nmessage: %s", diff, step.Message)
			}
			if step.Update.Step == test.view.stepOf() && !step.Update.StepAt.Equal(&test.view.Update.StepAt) {
				t.Errorf("a stretch that goes on must keep the time of its beginning")
			}
		})
	}
}

func (v View) stepOf() infrav1.UpdateStep {
	if v.Update == nil {
		return ""
	}
	return v.Update.Step
}

// TestMessageFitsItsField: kubectl's words name every pod that is in the way, and a status that is refused stops the machine.
func TestMessageFitsItsField(t *testing.T) {
	long := strings.Repeat("pod default/web-0 has local storage, ", 100)
	step := Next(staged(slot, cordoned, at(infrav1.UpdateDraining), drainIs(DrainBlocked, long)))
	if got := len(step.Update.Message); got > 1024 || !strings.HasPrefix(step.Message, long[:1000]) {
		t.Errorf("a message of %d characters to save, 1024 fit: %s", got, step.Update.Message)
	}
}

func TestNextSavesBootID(t *testing.T) {
	step := Next(staged(slot, cordoned, at(infrav1.UpdateDraining), drainIs(DrainDone, "")))
	want := infrav1.MachineUpdate{
		Digest: wanted, Step: infrav1.UpdateBooting, StepAt: metav1.NewTime(now), BootID: "before", Message: "booting into sha256:111111111111",
	}
	if diff := cmp.Diff(want, step.Update); diff != "" {
		t.Errorf("update to save (-want +got):\n%s", diff)
	}
	if step.Again != DefaultLimits().Boot {
		t.Errorf("looking again after %s, want the limit of the boot", step.Again)
	}
}
