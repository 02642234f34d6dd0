// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// carry takes the open operation further.
func carry(v View) Step {
	op := *v.Record.Operation
	switch {
	case v.proven(op):
		return succeed(v, op)
	case op.Step == infrav1.StepGaveUp:
		return gaveUp(v, op)
	case powered(op.Step) && v.Netboot.Failure.Order == OrderID(op):
		return fail(v, op, v.Netboot.Failure.Reason, v.Netboot.Failure.Message)
	case powered(op.Step) && v.Agent.Install.Order == OrderID(op): // not proven: another image
		return fail(v, op, infrav1.ReasonDigestMismatch, "the agent reports the install of "+v.Agent.Install.Digest+" instead of "+op.Digest)
	case op.Step != infrav1.StepPreparing && !v.Now.Before(op.Deadline.Time):
		return fail(v, op, infrav1.ReasonTimedOut, "the deadline passed while "+doing(op.Step))
	case op.Step == infrav1.StepPreparing:
		return prepare(v, op)
	case op.Step == infrav1.StepInstalling && v.Netboot.RedeemedOrder == OrderID(op):
		return v.to(op, infrav1.StepProving)
	case op.Step == infrav1.StepInstalling || op.Step == infrav1.StepProving:
		return v.carrying("").doing(None{}, op.Deadline.Sub(v.Now))
	}
	return power(v, op)
}

// power carries out the steps that are done by the BMC.
func power(v View, op infrav1.Operation) Step {
	s, wait := v.powerless()
	if wait {
		return s
	}
	if !v.fresh(op.StepAt.Time) {
		return v.reading(v.carrying(""))
	}
	switch op.Step {
	case infrav1.StepShuttingDown:
		return shutDown(v, op)
	case infrav1.StepForcingOff:
		return forceOff(v, op)
	case infrav1.StepSettingBoot:
		return setBoot(v, op)
	default:
		return powerOn(v, op)
	}
}

// powerless says why the power cannot be commanded now.
func (v View) powerless() (Step, bool) {
	s := v.carrying("")
	switch {
	case !v.Spec.HasBMC:
		s.Reason, s.Message = infrav1.ReasonNoPowerControl, s.Message+": the host has no BMC any more"
	case v.BMC.Trouble != "":
		s.Reason, s.Message = v.BMC.Trouble, s.Message+": "+v.BMC.Message
	default:
		return s, false
	}
	return s.doing(None{}, v.Limits.CommandPause), true
}

// prepare waits, the host untouched, until everything is there that the attempt needs.
func prepare(v View, op infrav1.Operation) Step {
	if op.Kind == infrav1.OperationRepave {
		switch digest := v.Spec.netbootDigest(); {
		case digest == "":
			return v.withdraw(op, "no netboot image is named any more")
		case digest != op.Digest:
			op.Digest = digest
			return v.carrying("").saving(v.Record.with(op))
		case !v.Spec.HasRootDevice:
			s := v.carrying("spec.rootDevice does not say which disk may be written")
			s.Reason = infrav1.ReasonRootDeviceMissing
			return s
		}
	}
	s, wait := v.powerless()
	if wait {
		return s
	}
	if op.Kind == infrav1.OperationRepave {
		if s, wait := v.image(op); wait {
			return s
		}
	}
	switch {
	case v.BMC.Busy || !v.fresh(op.StepAt.Time):
		// A command of the attempt before may be on its way still: an off that was read before it says nothing of now, and a
		// host that is taken to be off is not switched off.
		return v.reading(v.carrying(""))
	case v.BMC.Power == infrav1.PowerOff:
		return v.to(op, dark(op))
	case v.Agent.Connected && v.BMC.CanShutDown:
		return v.to(op, infrav1.StepShuttingDown)
	default:
		return v.to(op, infrav1.StepForcingOff)
	}
}

// image waits for the netboot server.
func (v View) image(op infrav1.Operation) (Step, bool) {
	image := v.Netboot.Image
	switch {
	case image.Digest != op.Digest || image.State == infrav1.ImagePulling || image.State == "":
		return v.carrying("the netboot server is fetching the image"), true
	case image.State != infrav1.ImageReady:
		s := v.carrying(image.Message)
		if s.Reason = image.Reason; s.Reason == "" {
			s.Reason = infrav1.ReasonImagePullFailed
		}
		return s, true
	}
	return Step{}, false
}

// proven says whether the outcome of the operation is a fact.
func (v View) proven(op infrav1.Operation) bool {
	mark := v.Agent.Install
	late := op.Step == infrav1.StepGaveUp || op.Attempt > 1 && untouched(op.Step)
	if op.Kind == infrav1.OperationRepave {
		if mark.Digest != op.Digest {
			return false
		}
		// An attempt given up as too slow may have come to its end after all; installing again would wipe what works.
		return powered(op.Step) && mark.Order == OrderID(op) || late && v.Agent.Connected && v.ofAttempt(op, mark.Order)
	}
	if op.BootID == "" {
		return op.Step == infrav1.StepProving // seen off, then seen on; nobody is there to say more
	}
	return (op.Step == infrav1.StepProving || late) && v.Agent.Connected && v.Agent.BootID != "" && v.Agent.BootID != op.BootID
}

// ofAttempt says whether an order is that of any attempt of the operation so far.
func (v View) ofAttempt(op infrav1.Operation, order string) bool {
	for ; op.Attempt > 0; op.Attempt-- {
		if order == OrderID(op) {
			return true
		}
	}
	return false
}

// untouched: the host still runs as it did before the attempt.
func untouched(step infrav1.OperationStep) bool {
	return step == infrav1.StepPreparing || step == infrav1.StepShuttingDown
}

// powered: the attempt has come so far that the host may have booted.
func powered(step infrav1.OperationStep) bool {
	return step == infrav1.StepPoweringOn || step == infrav1.StepInstalling || step == infrav1.StepProving
}

// dark is the step after the host was seen off.
func dark(op infrav1.Operation) infrav1.OperationStep {
	if op.Method == infrav1.MethodNetboot {
		return infrav1.StepSettingBoot
	}
	return infrav1.StepPoweringOn
}

// doing is a step in words.
func doing(step infrav1.OperationStep) string {
	return map[infrav1.OperationStep]string{
		infrav1.StepPreparing:    "preparing",
		infrav1.StepShuttingDown: "shutting down",
		infrav1.StepForcingOff:   "cutting the power",
		infrav1.StepSettingBoot:  "pointing the next boot at the network",
		infrav1.StepPoweringOn:   "powering on",
		infrav1.StepInstalling:   "waiting for the host to take its order",
		infrav1.StepProving:      "waiting for the proof of the boot",
		infrav1.StepGaveUp:       "given up",
	}[step]
}
