// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// tell makes events and metrics of what has just been saved: starts and outcomes, nothing in between.
func (r *Reconciler) tell(host *infrav1.RepaveHost, before *infrav1.RepaveHostStatus, old lifecycle.Record, step lifecycle.Step) {
	r.tellBMC(host, before)
	r.tellClaim(host, before)
	if old.Fingerprint == "" && step.Record.Fingerprint != "" {
		r.event(host, corev1.EventTypeNormal, infrav1.EventBMCCertificatePin, "Pin", "Pinned the certificate sha256:"+step.Record.Fingerprint)
	}
	r.tellOperation(host, old.Operation, step.Record)
	if ended := step.Record.Ended; ended != nil && (old.Ended == nil || *old.Ended != *ended) {
		r.tellEnd(host, *ended)
	}
}

func (r *Reconciler) tellOperation(host *infrav1.RepaveHost, old *infrav1.Operation, record lifecycle.Record) {
	op := record.Operation
	switch {
	case op == nil:
	case old == nil || old.ID != op.ID:
		attemptsTotal.Inc()
		r.event(host, corev1.EventTypeNormal, infrav1.EventOperationStarted, string(op.Kind), what(op.Kind, op.Counter)+" began")
	case old.Attempt != op.Attempt:
		attemptsTotal.Inc()
		r.event(host, corev1.EventTypeWarning, infrav1.EventAttemptFailed, string(op.Kind), what(op.Kind, op.Counter)+": "+op.Message)
	}
}

func (r *Reconciler) tellEnd(host *infrav1.RepaveHost, ended infrav1.OperationRecord) {
	operationsTotal.WithLabelValues(string(ended.Kind), string(ended.Outcome)).Inc()
	switch ended.Outcome {
	case infrav1.OutcomeSucceeded:
		operationSeconds.WithLabelValues(string(ended.Kind)).Observe(float64(ended.DurationSeconds))
		r.event(host, corev1.EventTypeNormal, infrav1.EventOperationSucceeded, string(ended.Kind), fmt.Sprintf("%s was proven, at attempt %d", ended.Kind, ended.Attempts))
	case infrav1.OutcomeFailed:
		r.event(host, corev1.EventTypeWarning, infrav1.EventOperationFailed, string(ended.Kind), fmt.Sprintf("%s was given up: %s", ended.Kind, ended.Message))
	case infrav1.OutcomeCancelled:
		r.event(host, corev1.EventTypeNormal, infrav1.EventOperationFailed, string(ended.Kind), fmt.Sprintf("%s was cancelled: %s", ended.Kind, ended.Message))
	}
}

// tellBMC tells of the first contact, and of contact that was lost.
func (r *Reconciler) tellBMC(host *infrav1.RepaveHost, before *infrav1.RepaveHostStatus) {
	now := meta.FindStatusCondition(host.Status.Conditions, infrav1.ConditionBMCReachable)
	was := meta.FindStatusCondition(before.Conditions, infrav1.ConditionBMCReachable)
	if now == nil || host.Spec.BMC == nil {
		return
	}
	reason := ""
	if was != nil {
		reason = was.Reason
	}
	switch {
	case now.Reason == infrav1.ReasonReachable && before.Power == "":
		r.event(host, corev1.EventTypeNormal, infrav1.EventHostEnrolled, "Enrol", "The BMC answered for the first time")
	case now.Status == "False" && now.Reason != reason:
		r.event(host, corev1.EventTypeWarning, infrav1.EventBMCUnreachable, "Read", now.Reason+": "+now.Message)
	}
}

func (r *Reconciler) tellClaim(host *infrav1.RepaveHost, before *infrav1.RepaveHostStatus) {
	now := meta.FindStatusCondition(host.Status.Conditions, infrav1.ConditionProvisioned)
	was := meta.FindStatusCondition(before.Conditions, infrav1.ConditionProvisioned)
	if now == nil || was == nil {
		return
	}
	free, wasFree := now.Reason == infrav1.ReasonUnclaimed, was.Reason == infrav1.ReasonUnclaimed
	switch {
	case wasFree && !free:
		r.event(host, corev1.EventTypeNormal, infrav1.EventClaimed, "Claim", "Serves RepaveMachine "+host.Spec.ClaimRef.Name)
	case free && !wasFree:
		r.event(host, corev1.EventTypeNormal, infrav1.EventReleased, "Release", "The host is free again")
	}
}

func (r *Reconciler) event(host *infrav1.RepaveHost, kind, reason, action, note string) {
	r.Recorder.Eventf(host, nil, kind, reason, action, "%s", cut(note, 1000))
}

func what(kind infrav1.OperationKind, counter int64) string {
	if counter == 0 {
		return "Install of the claim"
	}
	return fmt.Sprintf("%s %d", kind, counter)
}
