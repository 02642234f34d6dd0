// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func shutDown(v View, op infrav1.Operation) Step {
	last := v.BMC.Last
	switch {
	case v.BMC.Power == infrav1.PowerOff:
		return v.to(op, dark(op))
	case v.Now.Sub(op.StepAt.Time) >= v.Limits.ShutdownGrace || last.ID == commandID(op) && last.Unsupported:
		return v.to(op, infrav1.StepForcingOff)
	case last.ID == commandID(op) || v.BMC.Power != infrav1.PowerOn:
		return v.reading(v.carrying("")) // asked once; the operating system may take its time
	}
	return v.command(op, ShutDown)
}

func forceOff(v View, op infrav1.Operation) Step {
	switch {
	case v.BMC.Power == infrav1.PowerOff:
		return v.to(op, dark(op))
	case v.BMC.Power != infrav1.PowerOn && v.Now.Sub(op.StepAt.Time) < v.Limits.ShutdownGrace:
		return v.reading(v.carrying("")) // on its way, or not known
	}
	return v.command(op, ForceOff)
}

func setBoot(v View, op infrav1.Operation) Step {
	if v.BMC.Last.ID == commandID(op) && !v.BMC.Last.Failed {
		return v.to(op, infrav1.StepPoweringOn)
	}
	return v.command(op, NetworkBoot)
}

func powerOn(v View, op infrav1.Operation) Step {
	switch {
	case v.BMC.Power == infrav1.PowerOn && op.Kind == infrav1.OperationRepave:
		return v.to(op, infrav1.StepInstalling)
	case v.BMC.Power == infrav1.PowerOn:
		return v.to(op, infrav1.StepProving)
	case v.BMC.Power != infrav1.PowerOff:
		return v.reading(v.carrying(""))
	}
	return v.command(op, PowerOn)
}

// command gives the command of the present step; after it ended without the state it asks for, another try is saved.
func (v View) command(op infrav1.Operation, verb Verb) Step {
	s := v.carrying("")
	last := v.BMC.Last
	if last.ID == commandID(op) {
		if last.Failed {
			s = v.carrying(last.Message)
		}
		if last.Failed && last.Unsupported {
			return fail(v, op, infrav1.ReasonBMCUnsupported, last.Message)
		}
		if wait := v.Limits.CommandPause - v.Now.Sub(last.At); wait > 0 {
			return s.doing(None{}, wait)
		}
		op.Tries++
		return s.saving(v.Record.with(op))
	}
	if v.BMC.Busy {
		return s.doing(None{}, v.Limits.Poll)
	}
	effect := Command{ID: commandID(op), Verb: verb}
	if verb == NetworkBoot {
		effect.Order = OrderID(op)
	}
	return s.doing(effect, v.Limits.Poll)
}

// commandID names the command of a step: operation, attempt, step, try.
func commandID(op infrav1.Operation) string {
	return fmt.Sprintf("%s/%d/%s/%d", op.ID, op.Attempt, op.Step, op.Tries)
}
