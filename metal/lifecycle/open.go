// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// installs says whether the claim's first install is due.
func (v View) installs() bool {
	return v.Spec.providerID() != "" && v.Spec.netbootDigest() != "" && v.Record.Installed != v.Spec.providerID()
}

// repaves says whether a repave is asked for, by counter or as the first install of a claim.
func (v View) repaves() bool { return v.installs() || v.repaveAsked() }

func (v View) repaveAsked() bool {
	return v.Spec.Counters.RepaveCounter > v.Record.Acknowledged.RepaveCounter
}

func (v View) rebootAsked() bool {
	return v.Spec.Counters.RebootCounter > v.Record.Acknowledged.RebootCounter
}

// open begins the operation that is asked for, a repave before a reboot. One that cannot be is not begun, and said why.
func open(v View) Step {
	var refusals []refusal
	if v.repaves() {
		refused, why := v.refusesRepave()
		if !refused {
			return begin(v, infrav1.OperationRepave)
		}
		refusals = append(refusals, why)
	}
	if v.rebootAsked() {
		if v.Spec.HasBMC {
			return begin(v, infrav1.OperationReboot)
		}
		refusals = append(refusals, refusal{infrav1.ReasonNoPowerControl, fmt.Sprintf("reboot %d is not begun: the host has no BMC", v.Spec.Counters.RebootCounter)})
	}
	s := rest(v)
	if len(refusals) == 0 {
		return s
	}
	// A host that serves goes on serving: nothing was touched. The reason is shown all the same.
	s.Reason, s.Message = refusals[0].reason, refusals[0].message
	if !v.Agent.Connected || v.installs() {
		s.Ready = false
	}
	return s
}

type refusal struct{ reason, message string }

// refusesRepave says whether something is missing without which no disk may be written.
func (v View) refusesRepave() (bool, refusal) {
	what := "the install of the claim"
	if v.repaveAsked() {
		what = fmt.Sprintf("repave %d", v.Spec.Counters.RepaveCounter)
	}
	switch {
	case !v.Spec.HasBMC:
		return true, refusal{infrav1.ReasonNoPowerControl, what + " is not begun: the host has no BMC"}
	case v.Spec.netbootDigest() == "":
		return true, refusal{infrav1.ReasonNoNetbootImage, what + " is not begun: no netboot image is named"}
	case !v.Spec.HasRootDevice:
		return true, refusal{infrav1.ReasonRootDeviceMissing, what + " is not begun: spec.rootDevice does not say which disk may be written"}
	}
	return false, refusal{}
}

// begin opens an operation: the intent, saved before anything is touched.
func begin(v View, kind infrav1.OperationKind) Step {
	op := infrav1.Operation{
		ID: v.FreshID, Kind: kind, Method: infrav1.MethodPower, Step: infrav1.StepPreparing, Attempt: 1,
		BootID: v.Agent.BootID, StartedAt: v.stamp(), StepAt: v.stamp(),
	}
	op.Deadline.Time = op.StepAt.Add(v.Limits.attempt(kind))
	switch kind {
	case infrav1.OperationReboot:
		op.Counter = v.Spec.Counters.RebootCounter
	case infrav1.OperationRepave:
		op.Method, op.Digest = infrav1.MethodNetboot, v.Spec.netbootDigest()
		if v.repaveAsked() {
			op.Counter = v.Spec.Counters.RepaveCounter
		}
	}
	r := v.Record
	r.Operation, r.Free = &op, v.Spec.Claim == ""
	if r.Free {
		op.BootID = "" // nobody needs to be there any more who could report another boot
	}
	v.Record = r
	return v.carrying("").saving(r)
}
