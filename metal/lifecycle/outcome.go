// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"unicode/utf8"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// with is the record with another state of its operation; the View's own is never changed.
func (r Record) with(op infrav1.Operation) Record {
	r.Operation = &op
	return r
}

// to begins the next step of an attempt.
func (v View) to(op infrav1.Operation, step infrav1.OperationStep) Step {
	if op.Step == infrav1.StepPreparing {
		op.Deadline.Time = v.stamp().Add(v.Limits.attempt(op.Kind))
	}
	op.Step, op.StepAt, op.Tries = step, v.stamp(), 0
	if step == infrav1.StepPoweringOn && v.Agent.BootID != "" && !v.Record.Free {
		// The host is off now: whatever was reported so far is of a boot before. Without this, a host that had rebooted by
		// itself since the operation was opened would prove what has not happened yet.
		op.BootID = v.Agent.BootID
	}
	v.Record = v.Record.with(op)
	return v.carrying("").saving(v.Record)
}

// succeed closes the operation and acknowledges its counter, in one write.
func succeed(v View, op infrav1.Operation) Step {
	r := v.Record
	r.Operation, r.Ended = nil, v.ended(op, infrav1.OutcomeSucceeded, "")
	switch op.Kind {
	case infrav1.OperationReboot:
		r.Acknowledged.RebootCounter = max(r.Acknowledged.RebootCounter, op.Counter)
	case infrav1.OperationRepave:
		r.Acknowledged.RepaveCounter = max(r.Acknowledged.RepaveCounter, op.Counter)
		if !r.Free {
			r.Installed = v.Spec.providerID()
		}
	}
	r.Free = false
	return v.carrying("proven").saving(r)
}

// fail ends an attempt; the next begins, or the operation is given up.
func fail(v View, op infrav1.Operation, reason, message string) Step {
	op.Message = clip(fmt.Sprintf("attempt %d: %s: %s", op.Attempt, reason, message))
	op.StepAt, op.Tries = v.stamp(), 0
	r := v.Record
	if op.Attempt < v.Limits.Attempts {
		op.Attempt++
		op.Step = infrav1.StepPreparing
		op.Deadline.Time = v.stamp().Add(v.Limits.attempt(op.Kind))
	} else {
		op.Step = infrav1.StepGaveUp
		r.Ended = v.ended(op, infrav1.OutcomeFailed, op.Message)
	}
	r.Operation = &op
	v.Record = r
	return v.carrying("").saving(r)
}

// withdraw drops an operation that is no longer asked for and has touched nothing in its present attempt.
func (v View) withdraw(op infrav1.Operation, why string) Step {
	r := v.Record
	r.Operation, r.Free, r.Ended = nil, false, v.ended(op, infrav1.OutcomeCancelled, why)
	return v.carrying(why).saving(r)
}

// gaveUp stays as it is until a person, or another image, starts over. A repave may start over where a reboot gave up, but
// not the other way round: two operations that cannot succeed would take turns for ever.
func gaveUp(v View, op infrav1.Operation) Step {
	over := false
	refused, _ := v.refusesRepave()
	switch op.Kind {
	case infrav1.OperationReboot:
		over = v.Spec.Counters.RebootCounter > op.Counter || v.repaves() && !refused
	case infrav1.OperationRepave:
		digest := v.Spec.netbootDigest()
		over = v.Spec.Counters.RepaveCounter > max(op.Counter, v.Record.Acknowledged.RepaveCounter) || digest != "" && digest != op.Digest
	}
	if over {
		r := v.Record
		r.Operation, r.Free = nil, false
		s := v.carrying("starting over")
		return s.saving(r)
	}
	s := v.carrying("")
	s.Phase, s.Reason = infrav1.PhaseFailed, infrav1.ReasonAttemptsExhausted
	return s
}

// carrying tells of the open operation.
func (v View) carrying(more string) Step {
	op := v.Record.Operation
	s := v.saying(infrav1.PhaseRebooting, infrav1.ReasonRebooting, "reboot")
	if op.Kind == infrav1.OperationRepave {
		s.Phase, s.Reason, s.Message = infrav1.PhaseRepaving, infrav1.ReasonRepaving, "repave"
		if v.Spec.Claim != "" && v.Record.Installed != v.Spec.providerID() {
			s.Phase, s.Reason = infrav1.PhaseProvisioning, infrav1.ReasonInstalling
		}
	}
	if op.Counter > 0 {
		s.Message += fmt.Sprintf(" %d", op.Counter)
	} else {
		s.Message = "install of the claim"
	}
	if op.Step == infrav1.StepGaveUp {
		s.Message += fmt.Sprintf(" was given up after %d attempts; raise the counter to start over", op.Attempt)
	} else {
		s.Message += fmt.Sprintf(", attempt %d of %d: %s", op.Attempt, v.Limits.Attempts, doing(op.Step))
	}
	if more != "" {
		s.Message += ": " + more
	}
	if op.Message != "" {
		s.Message += " (" + op.Message + ")"
	}
	return s
}

// clip keeps a message within what the API takes.
func clip(message string) string {
	const most = 1024
	if len(message) <= most {
		return message
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut]
}
