// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const provider = "repave://ns/h/m"

// serving is a host that serves its machine: on, agent connected, nothing asked.
func servingView() View {
	return View{
		Now: noon, Limits: DefaultLimits(), FreshID: "new",
		Spec: Spec{
			HasBMC: true, HasRootDevice: true, Online: true, Claim: "m",
			Desired: &infrav1.HostDesired{ProviderID: provider, Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: "r/os@" + imageA}}},
		},
		Record: Record{Seen: true, Installed: provider, Fingerprint: "f", Acknowledged: infrav1.Counters{RebootCounter: 1, RepaveCounter: 1}},
		BMC:    BMC{At: noon, Power: infrav1.PowerOn, CanShutDown: true},
		Agent:  Agent{Connected: true, Known: true, BootID: "b1", NodeName: "n"},
	}.asking(1, 1)
}

func (v View) asking(reboot, repave int64) View {
	v.Spec.Counters = infrav1.Counters{RebootCounter: reboot, RepaveCounter: repave}
	return v
}

// at is a view in the midst of an operation that began a minute ago; the reading is of now.
func at(kind infrav1.OperationKind, step infrav1.OperationStep, change ...func(*View, *infrav1.Operation)) View {
	v := servingView().asking(2, 2)
	begun := metav1.NewTime(noon.Add(-time.Minute))
	op := infrav1.Operation{
		ID: "op", Kind: kind, Method: infrav1.MethodPower, Counter: 2, Step: step, Attempt: 1, BootID: "b1",
		StartedAt: begun, StepAt: begun, Deadline: metav1.NewTime(noon.Add(10 * time.Minute)),
	}
	if kind == infrav1.OperationRepave {
		op.Method, op.Digest = infrav1.MethodNetboot, imageA
		v.Netboot.Image = infrav1.NetbootImageStatus{Digest: imageA, State: infrav1.ImageReady}
	}
	for _, c := range change {
		c(&v, &op)
	}
	v.Record.Operation = &op
	return v
}

func off(v *View, _ *infrav1.Operation)   { v.BMC.Power = infrav1.PowerOff }
func stale(v *View, _ *infrav1.Operation) { v.BMC.At = noon.Add(-time.Hour) }
func late(_ *View, op *infrav1.Operation) { op.Deadline = metav1.NewTime(noon) }
func last(v *View, op *infrav1.Operation) {
	op.Attempt = v.Limits.Attempts
}
func done(id string) func(*View, *infrav1.Operation) {
	return func(v *View, _ *infrav1.Operation) { v.BMC.Last = Outcome{ID: id, At: noon.Add(-time.Minute)} }
}
func refused(id string) func(*View, *infrav1.Operation) {
	return func(v *View, _ *infrav1.Operation) {
		v.BMC.Last = Outcome{ID: id, At: noon.Add(-time.Minute), Failed: true, Message: "busy"}
	}
}
func mark(order string) func(*View, *infrav1.Operation) {
	return func(v *View, _ *infrav1.Operation) {
		v.Agent.Install = infrav1.InstallMark{Order: order, Digest: imageA}
	}
}

// TestNextOfAnOperation: what is done at each step, and what it makes of each thing that can be seen. The wanted text is the
// effect, or the step, try and attempt that are saved.
func TestNextOfAnOperation(t *testing.T) {
	const reboot, repave = infrav1.OperationReboot, infrav1.OperationRepave
	rebooted := func(v *View, _ *infrav1.Operation) { v.Agent.BootID = "b2" }
	lost := func(v *View, _ *infrav1.Operation) { v.Agent.Connected = false }
	dead := func(v *View, _ *infrav1.Operation) {
		v.BMC.Trouble, v.BMC.Message = infrav1.ReasonUnreachable, "no answer"
	}
	tests := []struct {
		name   string
		view   View
		want   string
		reason string
	}{
		{"agent connected: asked to shut down", at(reboot, infrav1.StepPreparing), "save ShuttingDown 1/0", infrav1.ReasonRebooting},
		{"no agent: the power is cut", at(reboot, infrav1.StepPreparing, lost), "save ForcingOff 1/0", infrav1.ReasonRebooting},
		{"off already: only on", at(reboot, infrav1.StepPreparing, off), "save PoweringOn 1/0", infrav1.ReasonRebooting},
		{"off, but a command is under way: it may be the power-on of an attempt that failed fast", at(repave, infrav1.StepPreparing, off, func(v *View, _ *infrav1.Operation) { v.BMC.Busy = true }), "none", infrav1.ReasonRepaving},
		{"an old reading is not believed", at(reboot, infrav1.StepPreparing, stale), "refresh", infrav1.ReasonRebooting},
		{"a dead BMC is waited for", at(reboot, infrav1.StepForcingOff, dead), "none", infrav1.ReasonUnreachable},
		{"the image is being fetched", at(repave, infrav1.StepPreparing, func(v *View, _ *infrav1.Operation) { v.Netboot = Netboot{} }), "none", infrav1.ReasonRepaving},
		{"the image is not known, the host untouched for ever", at(repave, infrav1.StepPreparing, late, func(v *View, _ *infrav1.Operation) {
			v.Netboot.Image.State, v.Netboot.Image.Reason = infrav1.ImageFailed, infrav1.ReasonImageNotFound
		}), "none", infrav1.ReasonImageNotFound},
		{"another image, the host untouched", at(repave, infrav1.StepPreparing, func(v *View, op *infrav1.Operation) { op.Digest = imageB }), "save Preparing 1/0", infrav1.ReasonRepaving},
		{"rootDevice was taken away", at(repave, infrav1.StepPreparing, func(v *View, _ *infrav1.Operation) { v.Spec.HasRootDevice = false }), "none", infrav1.ReasonRootDeviceMissing},
		{"shutdown asked", at(reboot, infrav1.StepShuttingDown), "ShutDown op/1/ShuttingDown/0", infrav1.ReasonRebooting},
		{"shutdown asked once", at(reboot, infrav1.StepShuttingDown, done("op/1/ShuttingDown/0")), "none", infrav1.ReasonRebooting},
		{"shutdown not followed", at(reboot, infrav1.StepShuttingDown, func(v *View, op *infrav1.Operation) { op.StepAt.Time = noon.Add(-v.Limits.ShutdownGrace) }), "save ForcingOff 1/0", infrav1.ReasonRebooting},
		{"on: cut", at(reboot, infrav1.StepForcingOff), "ForceOff op/1/ForcingOff/0", infrav1.ReasonRebooting},
		{"on of an hour ago: look", at(reboot, infrav1.StepForcingOff, stale), "refresh", infrav1.ReasonRebooting},
		{"cutting failed: another try is saved", at(reboot, infrav1.StepForcingOff, refused("op/1/ForcingOff/0")), "save ForcingOff 1/1", infrav1.ReasonRebooting},
		{"seen off, reboot", at(reboot, infrav1.StepForcingOff, off), "save PoweringOn 1/0", infrav1.ReasonRebooting},
		{"seen off, repave", at(repave, infrav1.StepForcingOff, off), "save SettingBoot 1/0", infrav1.ReasonRepaving},
		{"the boot source", at(repave, infrav1.StepSettingBoot, off), "NetworkBoot op/1/SettingBoot/0 op.1", infrav1.ReasonRepaving},
		{"the boot source is set", at(repave, infrav1.StepSettingBoot, off, done("op/1/SettingBoot/0")), "save PoweringOn 1/0", infrav1.ReasonRepaving},
		{"off: on", at(reboot, infrav1.StepPoweringOn, off), "PowerOn op/1/PoweringOn/0", infrav1.ReasonRebooting},
		{"seen on, never cut again", at(reboot, infrav1.StepPoweringOn), "save Proving 1/0", infrav1.ReasonRebooting},
		{"seen on, repave", at(repave, infrav1.StepPoweringOn), "save Installing 1/0", infrav1.ReasonRepaving},
		{"order taken", at(repave, infrav1.StepInstalling, func(v *View, _ *infrav1.Operation) { v.Netboot.RedeemedOrder = "op.1" }), "save Proving 1/0", infrav1.ReasonRepaving},
		{"another order taken", at(repave, infrav1.StepInstalling, func(v *View, _ *infrav1.Operation) { v.Netboot.RedeemedOrder = "op.0" }), "none", infrav1.ReasonRepaving},
		{"proof of the order", at(repave, infrav1.StepProving, mark("op.1")), "closed 1/2", infrav1.ReasonRepaving},
		{"proof before the redeemed order was seen", at(repave, infrav1.StepInstalling, mark("op.1")), "closed 1/2", infrav1.ReasonRepaving},
		{"the mark of another order proves nothing", at(repave, infrav1.StepProving, mark("old.1")), "none", infrav1.ReasonRepaving},
		{"another image was installed", at(repave, infrav1.StepProving, func(v *View, op *infrav1.Operation) {
			v.Agent.Install = infrav1.InstallMark{Order: "op.1", Digest: imageB}
		}), "save Preparing 2/0", infrav1.ReasonRepaving},
		{"the installer gave up", at(repave, infrav1.StepProving, func(v *View, _ *infrav1.Operation) {
			v.Netboot.Failure = infrav1.InstallFailure{Order: "op.1", Reason: infrav1.ReasonDiskNotFound}
		}), "save Preparing 2/0", infrav1.ReasonRepaving},
		{"a failure of the attempt before", at(repave, infrav1.StepProving, func(v *View, op *infrav1.Operation) {
			op.Attempt = 2
			v.Netboot.Failure = infrav1.InstallFailure{Order: "op.1", Reason: infrav1.ReasonDiskNotFound}
		}), "none", infrav1.ReasonRepaving},
		{"too slow, but done: proof before the second attempt touched the host", at(repave, infrav1.StepPreparing, mark("op.1"), func(_ *View, op *infrav1.Operation) { op.Attempt = 2 }), "closed 1/2", infrav1.ReasonRepaving},
		{"a mark of the first attempt while the second may be writing", at(repave, infrav1.StepInstalling, mark("op.1"), func(_ *View, op *infrav1.Operation) { op.Attempt = 2 }), "none", infrav1.ReasonRepaving},
		{"rebooted", at(reboot, infrav1.StepProving, rebooted), "closed 2/1", infrav1.ReasonRebooting},
		{"rebooted, but the agent is silent", at(reboot, infrav1.StepProving, rebooted, lost), "none", infrav1.ReasonRebooting},
		{"the old boot still reported", at(reboot, infrav1.StepProving), "none", infrav1.ReasonRebooting},
		{"rebooted by itself before the power was cut", at(reboot, infrav1.StepForcingOff, rebooted), "ForceOff op/1/ForcingOff/0", infrav1.ReasonRebooting},
		{"no agent ever: off and on is the proof", at(reboot, infrav1.StepProving, func(_ *View, op *infrav1.Operation) { op.BootID = "" }), "closed 2/1", infrav1.ReasonRebooting},
		{"deadline", at(reboot, infrav1.StepProving, late), "save Preparing 2/0", infrav1.ReasonRebooting},
		{"deadline of the last attempt", at(reboot, infrav1.StepProving, late, last), "save GaveUp 3/0", infrav1.ReasonRebooting},
		{"given up: rests", at(reboot, infrav1.StepGaveUp, last, func(v *View, _ *infrav1.Operation) { *v = v.asking(2, 1) }), "none", infrav1.ReasonAttemptsExhausted},
		{"a reboot given up gives way to a repave", at(reboot, infrav1.StepGaveUp, last), "dropped", infrav1.ReasonRebooting},
		{"given up, came up after all", at(reboot, infrav1.StepGaveUp, last, rebooted), "closed 2/1", infrav1.ReasonRebooting},
		{"given up, a higher counter", at(reboot, infrav1.StepGaveUp, last, func(_ *View, op *infrav1.Operation) { op.Counter = 1 }), "dropped", infrav1.ReasonRebooting},
		{"install given up, counters as acknowledged", at(repave, infrav1.StepGaveUp, last, func(v *View, op *infrav1.Operation) { op.Counter, *v = 0, v.asking(1, 1) }), "none", infrav1.ReasonAttemptsExhausted},
		{"install given up, counter raised", at(repave, infrav1.StepGaveUp, last, func(v *View, op *infrav1.Operation) { op.Counter = 0 }), "dropped", infrav1.ReasonRepaving},
		{"given up, another image", at(repave, infrav1.StepGaveUp, last, func(v *View, op *infrav1.Operation) { op.Digest = imageB }), "dropped", infrav1.ReasonRepaving},
		{"a repave given up is not replaced by a reboot", at(repave, infrav1.StepGaveUp, last), "none", infrav1.ReasonAttemptsExhausted},
		{"the claim ends in the midst", at(repave, infrav1.StepInstalling, func(v *View, _ *infrav1.Operation) { v.Spec.Desired = nil }), "dropped", infrav1.ReasonReleasing},
		{"the host is deleted in the midst", at(reboot, infrav1.StepPoweringOn, off, func(v *View, _ *infrav1.Operation) { v.Deleting = true }), "PowerOn op/1/PoweringOn/0", infrav1.ReasonStillClaimed},
		{"paused", at(reboot, infrav1.StepForcingOff, func(v *View, _ *infrav1.Operation) { v.Paused = true }), "none", infrav1.ReasonPaused},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := test.view.Record.Encode()
			got := Next(test.view)
			if diff := cmp.Diff(test.want, say(got)); diff != "" {
				t.Error(diff)
			}
			if got.Reason != test.reason {
				t.Errorf("reason %s, want %s (%s)", got.Reason, test.reason, got.Message)
			}
			if got.Ready {
				t.Error("says Ready in the midst of an operation")
			}
			if test.view.Record.Encode() != before {
				t.Error("the View was changed")
			}
		})
	}
}

// say puts a step into a few words.
func say(s Step) string {
	if !s.Save {
		switch e := s.Effect.(type) {
		case Command:
			return strings.TrimSpace(string(e.Verb) + " " + e.ID + " " + e.Order)
		case Refresh:
			return "refresh"
		case Forget:
			return "forget"
		}
		return "none"
	}
	count := func(a, b int64) string { return " " + string(rune('0'+a)) + "/" + string(rune('0'+b)) }
	op := s.Record.Operation
	switch {
	case op != nil:
		return "save " + string(op.Step) + count(int64(op.Attempt), int64(op.Tries))
	case s.Record.Ended != nil && s.Record.Ended.Outcome == infrav1.OutcomeSucceeded:
		return "closed" + count(s.Record.Acknowledged.RebootCounter, s.Record.Acknowledged.RepaveCounter)
	}
	return "dropped"
}

// TestNextOfAHost: what is begun, and what is not.
func TestNextOfAHost(t *testing.T) {
	type view = func(*View)
	tests := []struct {
		name   string
		change view
		want   string
		reason string
		ready  bool
	}{
		{"serves", func(*View) {}, "none", infrav1.ReasonServing, true},
		{"never seen: taken as it stands", func(v *View) { v.Record = Record{}; *v = v.asking(7, 7) }, "dropped", infrav1.ReasonNotRead, false},
		{"reboot asked", func(v *View) { *v = v.asking(2, 1) }, "save Preparing 1/0", infrav1.ReasonRebooting, false},
		{"both asked: the repave first", func(v *View) { *v = v.asking(2, 2) }, "save Preparing 1/0", infrav1.ReasonRepaving, false},
		{"counters behind ask for nothing", func(v *View) { *v = v.asking(0, 0) }, "none", infrav1.ReasonServing, true},
		{"first install", func(v *View) { v.Record.Installed = "" }, "save Preparing 1/0", infrav1.ReasonInstalling, false},
		{"install without rootDevice", func(v *View) { v.Record.Installed, v.Spec.HasRootDevice = "", false }, "none", infrav1.ReasonRootDeviceMissing, false},
		{"repave without rootDevice", func(v *View) { *v = v.asking(1, 2); v.Spec.HasRootDevice = false }, "none", infrav1.ReasonRootDeviceMissing, true},
		{"repave without image", func(v *View) { *v = v.asking(1, 2); v.Spec.Desired.Netboot = nil }, "none", infrav1.ReasonNoNetbootImage, true},
		{"repave without BMC", func(v *View) { *v = v.asking(1, 2); v.Spec.HasBMC = false }, "none", infrav1.ReasonNoPowerControl, true},
		{"reboot without BMC", func(v *View) { *v = v.asking(2, 1); v.Spec.HasBMC = false }, "none", infrav1.ReasonNoPowerControl, true},
		{"a refused repave keeps no reboot back", func(v *View) { *v = v.asking(2, 2); v.Spec.HasRootDevice = false }, "save Preparing 1/0", infrav1.ReasonRebooting, false},
		{"claimed as it runs", func(v *View) { v.Record.Installed, v.Spec.Desired.Netboot = "", nil }, "dropped", infrav1.ReasonProvisioned, false},
		{"claimed as it runs, no agent", func(v *View) { v.Record.Installed, v.Spec.Desired.Netboot, v.Agent = "", nil, Agent{} }, "none", infrav1.ReasonWaitingForData, false},
		{"agent lost", func(v *View) { v.Agent.Connected = false }, "none", infrav1.ReasonAgentLost, false},
		{"found off", func(v *View) { v.BMC.Power, v.Agent.Connected = infrav1.PowerOff, false }, "PowerOn power/PowerOn/58911840", infrav1.ReasonAgentLost, false},
		{"offline wanted", func(v *View) { v.Spec.Online = false }, "ShutDown power/ShutDown/58911840", infrav1.ReasonPoweredOff, false},
		{"offline wanted, shutdown not followed", func(v *View) {
			v.Spec.Online = false
			v.BMC.Last = Outcome{ID: "power/ShutDown/58911838", At: noon.Add(-time.Minute), Failed: true}
		}, "ForceOff power/ForceOff/58911840", infrav1.ReasonPoweredOff, false},
		{"free", func(v *View) { v.Spec.Claim, v.Spec.Desired, v.Record.Installed = "", nil, "" }, "none", infrav1.ReasonAvailable, true},
		{"free and off: left as it is", func(v *View) {
			v.Spec.Claim, v.Spec.Desired, v.Record.Installed, v.BMC.Power = "", nil, "", infrav1.PowerOff
		}, "none", infrav1.ReasonAvailable, true},
		{"free, BMC refuses", func(v *View) {
			v.Spec.Claim, v.Spec.Desired, v.Record.Installed, v.BMC.Trouble = "", nil, "", infrav1.ReasonCredentialsInvalid
			v.BMC.Message = "401"
		}, "none", infrav1.ReasonCredentialsInvalid, false},
		{"deleted while it serves", func(v *View) { v.Deleting = true; *v = v.asking(2, 2) }, "none", infrav1.ReasonStillClaimed, false},
		{"deleted and free, BMC dead", func(v *View) {
			v.Deleting, v.Spec.Claim, v.BMC.Trouble = true, "", infrav1.ReasonUnreachable
		}, "forget", infrav1.ReasonDeleting, false},
		{"certificate pinned at first use", func(v *View) { v.Record.Fingerprint, v.BMC.Fingerprint = "", "aa" }, "dropped", infrav1.ReasonNotRead, false},
		{"release begins", func(v *View) { v.Spec.Desired = nil }, "dropped", infrav1.ReasonReleasing, false},
		{"release cuts the power", func(v *View) { v.Spec.Desired = nil; releasing(v) }, "ForceOff release-1767355140/0", infrav1.ReasonReleasing, false},
		{"release does not believe an old reading", func(v *View) {
			v.Spec.Desired, v.BMC.Power, v.BMC.At = nil, infrav1.PowerOff, noon.Add(-time.Hour)
			releasing(v)
		}, "refresh", infrav1.ReasonReleasing, false},
		{"off, but a power-on of before may be on its way", func(v *View) {
			v.Spec.Desired, v.BMC.Power, v.Now = nil, infrav1.PowerOff, noon.Add(-50*time.Second)
			v.BMC.At = v.Now
			releasing(v)
		}, "none", infrav1.ReasonReleasing, false},
		{"off for good", func(v *View) {
			v.Spec.Desired, v.BMC.Power = nil, infrav1.PowerOff
			releasing(v)
		}, "dropped", infrav1.ReasonReleasing, false},
		{"release blocked", func(v *View) {
			v.Spec.Desired, v.BMC.Trouble = nil, infrav1.ReasonUnreachable
			releasing(v)
		}, "none", infrav1.ReasonReleaseBlocked, false},
		{"release forced", func(v *View) {
			v.Spec.Desired, v.BMC.Trouble, v.ForceRelease = nil, infrav1.ReasonUnreachable, true
			releasing(v)
		}, "dropped", infrav1.ReasonReleasing, false},
		{"released", func(v *View) { v.Spec.Desired = nil; releasing(v); v.Record.Release.Done = true }, "none", infrav1.ReasonReleasing, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := servingView()
			test.change(&v)
			got := Next(v)
			if diff := cmp.Diff([]any{test.want, test.reason, test.ready}, []any{say(got), got.Reason, got.Ready}); diff != "" {
				t.Errorf("%s\n%s", diff, got.Message)
			}
		})
	}
}

func releasing(v *View) {
	v.Record.Installed = ""
	v.Record.Release = &Release{At: metav1.NewTime(noon.Add(-time.Minute))}
}
