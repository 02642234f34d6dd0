// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"fmt"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Next says what comes next for a machine whose host is provisioned. It has no memory but View.Update: with that lost it finds
// its place again from the facts, and boots nothing that it does not see drained.
func Next(v View) Step {
	switch {
	case v.Update != nil && v.resume().bootUnderWay():
		return v.resume().next()
	case v.Wanted == "":
		return netbootOnly(v)
	case v.Update == nil || v.Update.Digest != v.Wanted:
		return stage(v.begin(v.Wanted))
	default:
		return v.resume().next()
	}
}

// next goes on from the stretch that was begun last.
func (m machine) next() Step {
	switch m.update.Step {
	case infrav1.UpdateStaging, infrav1.UpdateStaged:
		return stage(m)
	case infrav1.UpdateDraining:
		return drain(m)
	case infrav1.UpdateBooting:
		return boot(m)
	case infrav1.UpdateVerifying:
		return verify(m)
	case infrav1.UpdateFailed, infrav1.UpdateRolledBack:
		return failed(m)
	default:
		return proven(m)
	}
}

// machine is a View on its way to one digest.
type machine struct {
	View
	update infrav1.MachineUpdate
}

// begin starts the way to a digest.
func (v View) begin(digest string) machine {
	return machine{View: v, update: infrav1.MachineUpdate{Digest: digest}}
}

// resume takes up the way that was saved.
func (v View) resume() machine { return machine{View: v, update: *v.Update} }

// runs: the image runs, as a connected agent reports.
func (m machine) runs() bool { return m.Host.Connected && m.Host.Booted == m.update.Digest }

// failedAt: the agent gave up on the image in that stage.
func (m machine) failedAt(stage string) bool {
	return m.Host.Failure.Digest == m.update.Digest && m.Host.Failure.Stage == stage
}

// nodeProven: the Node is ready and its kubelet runs in the boot that the agent reports.
func (m machine) nodeProven() bool {
	return m.Node.Found && m.Node.Ready && m.Node.BootID != "" && m.Node.BootID == m.Host.BootID
}

// proves: the image runs, in another boot than the one in which its boot was asked for, and the Node serves.
func (m machine) proves() bool {
	return m.runs() && m.nodeProven() && m.Host.BootID != m.update.BootID
}

// bootUnderWay: the host was asked to boot the image and the end is not seen yet. Another wish waits until then, because
// nobody can call the boot back.
func (m machine) bootUnderWay() bool {
	asked := m.Host.Desired == m.update.Digest && m.Host.State == infrav1.DesiredBooted
	return asked && (m.update.Step == infrav1.UpdateBooting || m.update.Step == infrav1.UpdateVerifying)
}

// at is a Step that stays in, or goes to, a stretch of the way. The time of a stretch is that of its beginning.
func (m machine) at(step infrav1.UpdateStep, effect Effect, reason, message string) Step {
	if m.update.Step != step {
		m.update.Step = step
		m.update.StepAt.Time = m.Now
	}
	message = clip(message)
	m.update.Message = message
	return Step{Update: m.update, Effect: effect, Hold: m.bootUnderWay(), Reason: reason, Message: message}
}

// stage brings the image onto the host, without disturbing it, and waits for a slot. No cordon of ours is held here.
func stage(m machine) Step {
	digest := short(m.update.Digest)
	staging := func(effect Effect) Step {
		return m.at(infrav1.UpdateStaging, effect, infrav1.ReasonStaging, "staging "+digest)
	}
	asked := m.Host.Desired == m.update.Digest && m.Host.State == infrav1.DesiredStaged
	switch {
	case m.update.Step == "" && (asked || m.runs()):
		return staging(None{})
	case m.update.Step != "" && m.runs():
		return m.at(infrav1.UpdateVerifying, None{}, infrav1.ReasonVerifying, digest+" runs, the Node must prove itself")
	case m.update.Step != "" && m.failedAt(infrav1.FailedBoot):
		return failed(m)
	case !asked:
		return staging(SetDesired{m.update.Digest, infrav1.DesiredStaged})
	case m.failedAt(infrav1.FailedStage):
		return failed(m)
	case m.Node.Cordoned:
		return staging(Uncordon{})
	case !m.Host.Connected:
		return m.at(infrav1.UpdateStaging, None{}, infrav1.ReasonWaitingForHost, "the agent of the host is not connected")
	case m.Host.Staged != m.update.Digest:
		return staging(None{})
	case m.Host.Operation:
		return m.at(infrav1.UpdateStaged, None{}, infrav1.ReasonWaitingForHost, "a reboot or repave of the host runs")
	case m.Slot != m.update.Digest || m.update.Step != infrav1.UpdateStaged:
		return m.at(infrav1.UpdateStaged, None{}, infrav1.ReasonWaitingForSlot, digest+" is staged and waits for a slot")
	default:
		return m.at(infrav1.UpdateDraining, None{}, infrav1.ReasonDraining, "a slot is granted, emptying the Node")
	}
}

// drain empties the Node. The host is asked to boot only when the Node is seen cordoned and the drain done, in that order.
func drain(m machine) Step {
	wait := func(effect Effect, reason, message string) Step {
		return m.at(infrav1.UpdateDraining, effect, reason, message)
	}
	switch {
	case m.runs(), m.Slot != m.update.Digest, m.Host.Connected && m.Host.Staged != m.update.Digest:
		return m.at(infrav1.UpdateStaging, None{}, infrav1.ReasonStaging, "the slot was withdrawn or the staged image changed")
	case m.Node.Unreachable:
		return wait(None{}, infrav1.ReasonWorkloadUnreachable, "the workload cluster cannot be reached to drain the Node")
	case m.Node.Found && !m.Node.Unschedulable:
		return wait(Cordon{}, infrav1.ReasonDraining, "cordoning the Node")
	case m.Node.Found && m.Drain.State == DrainNone:
		return wait(Drain{}, infrav1.ReasonDraining, "moving pods away")
	case m.Node.Found && m.Drain.State == DrainRunning:
		return wait(None{}, infrav1.ReasonDraining, "moving pods away")
	case m.Node.Found && m.Drain.State == DrainBlocked:
		return wait(None{}, infrav1.ReasonDrainBlocked, m.Drain.Message)
	case !m.Host.Connected:
		return wait(None{}, infrav1.ReasonWaitingForHost, "drained, but the agent of the host is not connected")
	case m.Host.Operation:
		return wait(None{}, infrav1.ReasonWaitingForHost, "drained, but a reboot or repave of the host runs")
	case m.Host.Desired != m.update.Digest:
		return wait(SetDesired{m.update.Digest, infrav1.DesiredStaged}, infrav1.ReasonDraining, "drained, asking the host for the image again")
	}
	m.update.BootID = m.Host.BootID
	return m.boots(SetDesired{m.update.Digest, infrav1.DesiredBooted})
}

// boots is the Step of a boot that is under way or about to be asked for.
func (m machine) boots(effect Effect) Step {
	step := m.at(infrav1.UpdateBooting, effect, infrav1.ReasonBooting, "booting into "+short(m.update.Digest))
	step.Hold = true
	step.Again = max(step.Update.StepAt.Add(m.Limits.Boot).Sub(m.Now), 0)
	return step
}

// boot waits until another boot runs the image.
func boot(m machine) Step {
	switch {
	case m.runs() && m.Host.BootID != m.update.BootID:
		return m.at(infrav1.UpdateVerifying, None{}, infrav1.ReasonVerifying, short(m.update.Digest)+" runs, the Node must prove itself")
	case m.failedAt(infrav1.FailedBoot), m.failedAt(infrav1.FailedStage):
		return failed(m)
	case m.overdue(m.Limits.Boot):
		return m.gaveUp(fmt.Sprintf("%s did not come up within %s", short(m.update.Digest), m.Limits.Boot))
	case m.Host.Desired != m.update.Digest:
		// The wish was saved but never written, and the host is asked for something else meanwhile.
		return m.at(infrav1.UpdateStaging, None{}, infrav1.ReasonStaging, "the boot was never asked for, staging again")
	case m.Host.State != infrav1.DesiredBooted:
		return m.boots(SetDesired{m.update.Digest, infrav1.DesiredBooted})
	default:
		return m.boots(None{})
	}
}

// verify waits until the Node proves that the image serves. Only a boot that we asked for has a deadline: a host that came up
// by itself, as after its install, may wait for its first Node as long as the cluster takes to become ready.
func verify(m machine) Step {
	asked := m.update.BootID != ""
	wait := func(reason, message string) Step {
		step := m.at(infrav1.UpdateVerifying, None{}, reason, message)
		if asked {
			step.Again = max(step.Update.StepAt.Add(m.Limits.Verify).Sub(m.Now), 0)
		}
		return step
	}
	switch {
	case m.failedAt(infrav1.FailedBoot) && !m.runs():
		return failed(m)
	case m.proves():
		return m.at(infrav1.UpdateUncordoning, None{}, infrav1.ReasonVerifying, "proven, uncordoning the Node")
	case asked && m.overdue(m.Limits.Verify):
		return m.gaveUp(fmt.Sprintf("%s came up, but its Node did not prove itself within %s", short(m.update.Digest), m.Limits.Verify))
	case !asked && m.Host.Connected && !m.runs():
		return m.at(infrav1.UpdateStaging, None{}, infrav1.ReasonStaging, "the host runs another image, staging")
	case !m.runs():
		return wait(infrav1.ReasonWaitingForHost, "the host does not report the image any more")
	case m.Node.Unreachable:
		return wait(infrav1.ReasonWorkloadUnreachable, "the workload cluster cannot be reached to verify the Node")
	case !m.Node.Found:
		return wait(infrav1.ReasonWaitingForNode, "the image runs, the Node is not there yet")
	case !m.Node.Ready:
		return wait(infrav1.ReasonWaitingForNode, "the image runs, the Node is not ready yet")
	default:
		return wait(infrav1.ReasonVerifying, "the Node has not reported from this boot yet")
	}
}

// proven gives the cordon back and rests, until the host runs something else.
func proven(m machine) Step {
	uncordoning := func(effect Effect, reason, message string) Step {
		return m.at(infrav1.UpdateUncordoning, effect, reason, message)
	}
	resting := m.update.Step == infrav1.UpdateUpToDate
	switch {
	case m.Host.Operation && m.Host.Desired == m.update.Digest && m.Host.State == infrav1.DesiredBooted:
		// A repave leaves an agent without memory. It would take the wish of before for a new one and boot without a slot.
		return m.at(m.update.Step, SetDesired{m.update.Digest, infrav1.DesiredStaged}, infrav1.ReasonMachineUpToDate,
			"a reboot or repave of the host runs, taking the boot wish back")
	case m.Host.Connected && !m.runs() && !m.Host.Operation:
		return m.at(infrav1.UpdateStaging, None{}, infrav1.ReasonStaging, "the host runs another image, staging")
	case m.Host.Desired != m.update.Digest:
		return uncordoning(SetDesired{m.update.Digest, infrav1.DesiredStaged}, infrav1.ReasonVerifying, "proven, noting the image at the host")
	case m.Node.Cordoned:
		return uncordoning(Uncordon{}, infrav1.ReasonVerifying, "proven, uncordoning the Node")
	case m.Node.Unreachable && !resting:
		return uncordoning(None{}, infrav1.ReasonWorkloadUnreachable, "the workload cluster cannot be reached to uncordon the Node")
	default:
		return m.at(infrav1.UpdateUpToDate, None{}, infrav1.ReasonMachineUpToDate, short(m.update.Digest)+" runs and is proven")
	}
}
