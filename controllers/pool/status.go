// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/rollout"
)

// ownedConditions are written here and nowhere else.
var ownedConditions = []string{infrav1.ConditionReady, infrav1.ConditionUpToDate, infrav1.ConditionDegraded}

// named is how many members a message names.
const named = 3

// report writes the status of a pool from what was seen and planned, and tells the turns of its rollout as Events.
func (r *Reconciler) report(pool *infrav1.RepaveMachinePool, seen *sight, step rollout.Step) {
	r.tell(pool, seen.view, step)
	status := &pool.Status
	status.ObservedGeneration = pool.Generation
	count(status, seen, step.Counts)
	status.Selector = seen.selector()
	status.TargetDigest = seen.view.Digest
	if step.Reason == infrav1.ReasonAllUpdated && step.Counts.UpToDate > 0 {
		status.DeployedDigest = seen.view.Digest
	}
	if provisioned(seen.view) {
		status.Initialization.Provisioned = ptr.To(true)
	}
	status.Ready = ptr.Deref(status.Initialization.Provisioned, false)
	// An ID stays until its member is gone: Cluster API deletes the Nodes of IDs that left the list.
	slices.Sort(seen.providers)
	if !slices.Equal(pool.Spec.ProviderIDList, seen.providers) {
		pool.Spec.ProviderIDList = seen.providers
	}
	conditions.Set(pool, readiness(seen, step))
	conditions.Set(pool, upToDate(step))
	conditions.Set(pool, degraded(seen, step))
	measure(pool, step)
}

func count(status *infrav1.RepaveMachinePoolStatus, seen *sight, c rollout.Counts) {
	number := func(n int) *int32 { return ptr.To(int32(n)) } //nolint:gosec // at most 10,000 members
	status.Replicas = number(len(seen.members))
	status.ReadyReplicas = number(c.Ready)
	status.UpToDateReplicas = number(c.UpToDate)
	status.UpdatingReplicas = number(c.Updating)
	status.DegradedReplicas = number(c.Degraded)
	status.UnavailableReplicas = number(c.Unavailable)
}

// provisioned says whether all wanted members are there and have been provisioned once.
func provisioned(view rollout.View) bool {
	there := 0
	for i := range view.Members {
		if m := &view.Members[i]; m.Provisioned && !m.Deleting {
			there++
		}
	}
	return there >= view.Replicas
}

func condition(kind string, status bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if status {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// readiness says whether every wanted member serves.
func readiness(seen *sight, step rollout.Step) metav1.Condition {
	message := fmt.Sprintf("%d/%d ready", step.Counts.Ready, seen.view.Replicas)
	switch {
	case step.Create > 0 || len(step.Delete) > 0 || len(seen.members) != seen.view.Replicas:
		return condition(infrav1.ConditionReady, false, infrav1.ReasonScaling, fmt.Sprintf("%s; %d of %d machines exist", message, len(seen.members), seen.view.Replicas))
	case step.Counts.Ready < seen.view.Replicas:
		return condition(infrav1.ConditionReady, false, infrav1.ReasonNotAllReady, message)
	}
	return condition(infrav1.ConditionReady, true, infrav1.ReasonAllReady, message)
}

// upToDate says how the rollout stands.
func upToDate(step rollout.Step) metav1.Condition {
	return condition(infrav1.ConditionUpToDate, step.Reason == infrav1.ReasonAllUpdated, step.Reason, step.Message)
}

// degraded says what a person should look at. True is bad.
func degraded(seen *sight, step rollout.Step) metav1.Condition {
	switch {
	case len(seen.noHost) > 0:
		return condition(infrav1.ConditionDegraded, true, infrav1.ReasonHostConflict,
			fmt.Sprintf("%d machines wait for a host that is free and matches: %s", len(seen.noHost), abbreviate(seen.noHost)))
	case step.Counts.Degraded > 0:
		return condition(infrav1.ConditionDegraded, true, infrav1.ReasonHostDegraded,
			fmt.Sprintf("%d machines are down or failed the image", step.Counts.Degraded))
	}
	return condition(infrav1.ConditionDegraded, false, infrav1.ReasonHealthy, "")
}

// reportEnd says what a pool that is being deleted waits for.
func (r *Reconciler) reportEnd(pool *infrav1.RepaveMachinePool, seen *sight) {
	var names []string
	for name := range seen.members {
		names = append(names, name)
	}
	slices.Sort(names)
	message := "waiting for Machines to go"
	if len(names) > 0 {
		message = fmt.Sprintf("%d machines left: %s", len(names), abbreviate(names))
	}
	pool.Status.Replicas = ptr.To(int32(len(names))) //nolint:gosec // at most 10,000 members
	slices.Sort(seen.providers)
	pool.Spec.ProviderIDList = seen.providers
	conditions.Set(pool, condition(infrav1.ConditionReady, false, infrav1.ReasonDeleting, message))
}

// tell records the turns of a rollout: another target, its end, its halt. They are read off the status before it is written anew.
func (r *Reconciler) tell(pool *infrav1.RepaveMachinePool, view rollout.View, step rollout.Step) {
	if pool.Status.TargetDigest != view.Digest {
		r.Recorder.Eventf(pool, nil, corev1.EventTypeNormal, infrav1.EventRolloutStarted, "Rollout", "Rolling out %s to %d machines", view.Digest, view.Replicas)
	}
	if step.Reason == infrav1.ReasonAllUpdated && step.Counts.UpToDate > 0 && pool.Status.DeployedDigest != view.Digest {
		r.Recorder.Eventf(pool, nil, corev1.EventTypeNormal, infrav1.EventRolloutFinished, "Rollout", "All %d machines run %s", step.Counts.UpToDate, view.Digest)
	}
	if step.Reason == infrav1.ReasonHalted && conditions.GetReason(pool, infrav1.ConditionUpToDate) != infrav1.ReasonHalted {
		r.Recorder.Eventf(pool, nil, corev1.EventTypeWarning, infrav1.EventRolloutHalted, "Rollout", "%s", step.Message)
	}
}

// abbreviate names a few and counts the rest.
func abbreviate(names []string) string {
	slices.Sort(names)
	if len(names) <= named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:named], ", "), len(names)-named)
}
