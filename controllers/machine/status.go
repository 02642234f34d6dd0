// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
)

// sight is what was seen in one look, for the status.
type sight struct {
	// reason and message say what an unclaimed machine waits for.
	reason, message string
	// host that serves the machine; nil for none yet.
	host *infrav1.RepaveHost
	// step of the in-place repave; nil before the machine is provisioned.
	step *update.Step
	// node as seen, when its cluster was reachable.
	node      drain.NodeFacts
	reachable bool
}

func (s *sight) waitFor(reason, message string) { s.reason, s.message = reason, message }

// report computes status and conditions from what was seen.
func (r *Reconciler) report(s *scene, seen sight) {
	machine := s.machine
	if seen.host == nil {
		if seen.reason == "" {
			// A choice was withdrawn; the next look tells more.
			return
		}
		r.tellNoHost(machine, seen)
		set(machine, infrav1.ConditionHostClaimed, false, seen.reason, seen.message)
		set(machine, infrav1.ConditionReady, false, seen.reason, seen.message)
		machine.Status.Available = false
		return
	}
	describe(machine, seen)
	set(machine, infrav1.ConditionHostClaimed, true, infrav1.ReasonClaimed, "host "+seen.host.Name+" serves the machine")
	if seen.step != nil {
		set(machine, infrav1.ConditionUpToDate, seen.step.Reason == infrav1.ReasonMachineUpToDate, seen.step.Reason, seen.step.Message)
		updated, reason := outcome(seen.step.Update.Step)
		set(machine, infrav1.ConditionNodeUpdated, updated, reason, seen.step.Message)
	}
	status, reason, message := ready(machine, seen)
	setStatus(machine, infrav1.ConditionReady, status, reason, message)
	// A Node that takes no pods is not available to its cluster, whoever cordoned it.
	machine.Status.Available = status == metav1.ConditionTrue && !seen.node.Unschedulable
}

// describe copies what Cluster API and people want to know of the host and the Node.
func describe(machine *infrav1.RepaveMachine, seen sight) {
	host := seen.host
	machine.Status.HostRef = &infrav1.HostReference{Name: host.Name}
	machine.Status.FailureDomain = host.Labels[infrav1.LabelZone]
	if agent := host.Status.Agent; agent != nil && host.Status.Installed == ProviderID(machine.Namespace, host.Name, machine.Name) {
		machine.Status.Addresses = agent.Addresses
		machine.Status.Image = infrav1.MachineImages{Booted: agent.Booted, Staged: agent.Staged, Rollback: agent.Rollback}
	}
	switch {
	case seen.node.Found:
		machine.Status.NodeRef = &infrav1.NodeReference{Name: seen.node.Name}
	case seen.reachable:
		machine.Status.NodeRef = nil
	}
}

// outcome is the word of NodeUpdated for a stretch of the way.
func outcome(step infrav1.UpdateStep) (bool, string) {
	switch step {
	case infrav1.UpdateUpToDate:
		return true, infrav1.ReasonUpdateSucceeded
	case infrav1.UpdateFailed:
		return false, infrav1.ReasonUpdateFailed
	case infrav1.UpdateRolledBack:
		return false, infrav1.ReasonRolledBack
	default:
		return false, infrav1.ReasonUpdateInProgress
	}
}

// ready says whether the machine does what it is for: its host serves and its Node is ready.
func ready(machine *infrav1.RepaveMachine, seen sight) (metav1.ConditionStatus, string, string) {
	host := meta.FindStatusCondition(seen.host.Status.Conditions, infrav1.ConditionReady)
	switch {
	case !ptr.Deref(machine.Status.Initialization.Provisioned, false):
		message := fmt.Sprintf("host %s is being prepared", seen.host.Name)
		if host != nil && host.Status != metav1.ConditionTrue {
			message = fmt.Sprintf("host %s: %s: %s", seen.host.Name, host.Reason, host.Message)
		}
		return metav1.ConditionFalse, infrav1.ReasonWaitingForHost, message
	case seen.step.Update.Step == infrav1.UpdateBooting:
		return metav1.ConditionFalse, infrav1.ReasonBooting, seen.step.Message
	case host != nil && host.Status != metav1.ConditionTrue:
		return metav1.ConditionFalse, host.Reason, fmt.Sprintf("host %s: %s", seen.host.Name, host.Message)
	case !agentConnected(seen.host):
		return metav1.ConditionFalse, infrav1.ReasonAgentLost, fmt.Sprintf("the agent of host %s does not renew its Lease", seen.host.Name)
	case !seen.reachable:
		return metav1.ConditionUnknown, infrav1.ReasonWorkloadUnreachable, "the workload cluster cannot be reached"
	case !seen.node.Found:
		return metav1.ConditionFalse, infrav1.ReasonWaitingForNode, "the Node is not there yet"
	case !seen.node.Ready:
		return metav1.ConditionFalse, infrav1.ReasonWaitingForNode, fmt.Sprintf("Node %s is not ready", seen.node.Name)
	default:
		return metav1.ConditionTrue, infrav1.ReasonServing, fmt.Sprintf("host %s serves as Node %s", seen.host.Name, seen.node.Name)
	}
}

func set(machine *infrav1.RepaveMachine, condition string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	setStatus(machine, condition, status, reason, message)
}

func setStatus(machine *infrav1.RepaveMachine, condition string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&machine.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: machine.Generation,
	})
}

// tellNoHost says once that no host can serve the machine.
func (r *Reconciler) tellNoHost(machine *infrav1.RepaveMachine, seen sight) {
	told := meta.FindStatusCondition(machine.Status.Conditions, infrav1.ConditionHostClaimed)
	if seen.reason == infrav1.ReasonNoHostAvailable && (told == nil || told.Reason != seen.reason) {
		r.Recorder.Eventf(machine, nil, corev1.EventTypeWarning, infrav1.EventNoHost, "Claim", "%s", seen.message)
	}
}

// tell says at the starts and outcomes of an in-place repave what happened.
func (r *Reconciler) tell(machine *infrav1.RepaveMachine, old *infrav1.MachineUpdate, step update.Step) {
	from := infrav1.UpdateStep("")
	if old != nil {
		from = old.Step
	}
	kind, reason := corev1.EventTypeNormal, ""
	switch to := step.Update.Step; {
	case step.Reason == infrav1.ReasonDrainBlocked:
		kind, reason = corev1.EventTypeWarning, infrav1.EventDrainFailed
	case from == to:
		return
	case to == infrav1.UpdateDraining:
		reason = infrav1.EventUpdateStarted
	case to == infrav1.UpdateUpToDate && step.Update.BootID != "":
		reason = infrav1.EventUpdateSucceeded
	case to == infrav1.UpdateRolledBack:
		kind, reason = corev1.EventTypeWarning, infrav1.EventRolledBack
	case to == infrav1.UpdateFailed:
		kind, reason = corev1.EventTypeWarning, infrav1.EventUpdateFailed
	default:
		return
	}
	updates.WithLabelValues(reason).Inc()
	r.Recorder.Eventf(machine, nil, kind, reason, "Update", "%s", step.Message)
}
