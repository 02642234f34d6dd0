// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// release ends a claim: everything stops, the install is forgotten, and the host is powered off.
func release(v View) Step {
	s := v.saying(infrav1.PhaseReleasing, infrav1.ReasonReleasing, "the claim ends; the host is being powered off")
	r := v.Record
	switch {
	case r.Release == nil || r.Operation != nil || r.Installed != "":
		r = v.cancelled(r)
		r.Installed, r.Release = "", &Release{At: v.stamp()}
		return s.saving(r)
	case r.Release.Done:
		s.Message = "the claim has ended"
		return s
	case !v.Spec.HasBMC || v.ForceRelease || v.darkened():
		done := *r.Release
		done.Done = true
		r.Release = &done
		return s.saving(r)
	case v.BMC.Trouble != "":
		s.Reason = infrav1.ReasonReleaseBlocked
		s.Message = fmt.Sprintf("the host cannot be powered off: %s; mend the BMC, or cut the power by hand and annotate the host with %s", v.BMC.Message, infrav1.AnnotationForceRelease)
		return v.reading(s)
	case !v.fresh(r.Release.At.Time) || v.BMC.Power == infrav1.PowerOff:
		return v.reading(s)
	}
	return cutPower(v, s)
}

// darkened says whether the host is off and stays so. Off by our own command is; but a host that is off already may be about
// to come up, by a command given before the release.
func (v View) darkened() bool {
	release := v.Record.Release
	if v.BMC.Power != infrav1.PowerOff || v.BMC.Busy || !v.fresh(release.At.Time) {
		return false
	}
	return v.BMC.Last.ID == releaseID(*release) && !v.BMC.Last.Failed || v.BMC.At.Sub(release.At.Time) >= v.Limits.Settle
}

func releaseID(r Release) string { return fmt.Sprintf("release-%d/%d", r.At.Unix(), r.Tries) }

func cutPower(v View, s Step) Step {
	id := releaseID(*v.Record.Release)
	if v.BMC.Last.ID == id {
		if v.BMC.Last.Failed {
			s.Reason = infrav1.ReasonReleaseBlocked
			s.Message = fmt.Sprintf("the host cannot be powered off: %s; tried again", v.BMC.Last.Message)
		}
		if wait := v.Limits.CommandPause - v.Now.Sub(v.BMC.Last.At); wait > 0 {
			return s.doing(None{}, wait)
		}
		r, again := v.Record, *v.Record.Release
		again.Tries++
		r.Release = &again
		return s.saving(r)
	}
	if v.BMC.Busy {
		return s.doing(None{}, v.Limits.Poll)
	}
	return s.doing(Command{ID: id, Verb: ForceOff}, v.Limits.Poll)
}

// cancelled is the record without its open operation. One that gave up is in the history already.
func (v View) cancelled(r Record) Record {
	if r.Operation == nil {
		return r
	}
	if r.Operation.Step != infrav1.StepGaveUp {
		r.Ended = v.ended(*r.Operation, infrav1.OutcomeCancelled, "the claim ended")
	}
	r.Operation, r.Free = nil, false
	return r
}

// ended is the line of the history about an operation.
func (v View) ended(op infrav1.Operation, outcome infrav1.OperationOutcome, message string) *infrav1.OperationRecord {
	why := "Counter"
	if op.Counter == 0 {
		why = "Claim"
	}
	return &infrav1.OperationRecord{
		ID: op.ID, Kind: op.Kind, Why: why, Outcome: outcome, Attempts: op.Attempt, StartedAt: op.StartedAt,
		DurationSeconds: max(0, int64(v.Now.Sub(op.StartedAt.Time).Seconds())), Message: message,
	}
}
