// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// conditions of one host.
type conditions struct{ host *infrav1.RepaveHost }

func (c conditions) set(kind string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	c.put(kind, status, reason, message)
}

func (c conditions) put(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&c.host.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: c.host.Generation,
	})
}

func (c conditions) drop(kind string) { meta.RemoveStatusCondition(&c.host.Status.Conditions, kind) }

func (c conditions) bmcReachable(v lifecycle.View) {
	switch {
	case !v.Spec.HasBMC:
		c.set(infrav1.ConditionBMCReachable, false, infrav1.ReasonNoBMC, "the host has no BMC: no power control, in-place repaves only")
	case v.BMC.Trouble != "":
		c.set(infrav1.ConditionBMCReachable, false, v.BMC.Trouble, v.BMC.Message)
	case v.BMC.At.IsZero():
		c.put(infrav1.ConditionBMCReachable, metav1.ConditionUnknown, infrav1.ReasonNotRead, "the BMC has not been read yet")
	default:
		c.set(infrav1.ConditionBMCReachable, true, infrav1.ReasonReachable, "")
	}
}

func (c conditions) provisioned(v lifecycle.View, step lifecycle.Step) {
	switch {
	case v.Spec.Claim == "":
		c.set(infrav1.ConditionProvisioned, false, infrav1.ReasonUnclaimed, "")
	case v.Spec.Desired == nil:
		c.set(infrav1.ConditionProvisioned, false, infrav1.ReasonReleasing, "")
	case step.Record.Installed != "" && step.Record.Installed == v.Spec.Desired.ProviderID:
		c.set(infrav1.ConditionProvisioned, true, infrav1.ReasonProvisioned, "")
	default:
		c.set(infrav1.ConditionProvisioned, false, step.Reason, step.Message)
	}
}

// repaved tells of the open repave, or of the last one that history knows.
func (c conditions) repaved(record lifecycle.Record) {
	if op := record.Operation; op != nil && op.Kind == infrav1.OperationRepave {
		if op.Step == infrav1.StepGaveUp {
			c.set(infrav1.ConditionRepaved, false, infrav1.ReasonRepaveFailed, op.Message)
		} else {
			c.set(infrav1.ConditionRepaved, false, infrav1.ReasonRepavePending, op.Message)
		}
		return
	}
	for _, line := range c.host.Status.History {
		switch {
		case line.Kind != infrav1.OperationRepave || line.Outcome == infrav1.OutcomeCancelled:
			continue
		case line.Outcome == infrav1.OutcomeSucceeded:
			c.set(infrav1.ConditionRepaved, true, infrav1.ReasonRepaveSucceeded, "")
		default:
			c.set(infrav1.ConditionRepaved, false, infrav1.ReasonRepaveFailed, line.Message)
		}
		return
	}
	c.drop(infrav1.ConditionRepaved)
}

func (c conditions) agent(v lifecycle.View) {
	switch {
	case v.Agent.Connected:
		c.set(infrav1.ConditionAgentConnected, true, infrav1.ReasonConnected, "")
	case v.Agent.Known:
		c.set(infrav1.ConditionAgentConnected, false, infrav1.ReasonLeaseExpired, "the Lease was not renewed in time")
	default:
		c.set(infrav1.ConditionAgentConnected, false, infrav1.ReasonNeverConnected, "no agent has reported yet")
	}
	agent := c.host.Status.Agent
	if agent == nil || agent.Activity == "" || c.host.Spec.ClaimRef == nil {
		c.drop(infrav1.ConditionIdle)
		return
	}
	reason := map[infrav1.AgentActivity]string{
		infrav1.AgentIdle: infrav1.ReasonIdle, infrav1.AgentStaging: infrav1.ReasonStaging,
		infrav1.AgentStaged: infrav1.ReasonStaged, infrav1.AgentRebooting: infrav1.ReasonAgentRebooting,
	}[agent.Activity]
	c.set(infrav1.ConditionIdle, agent.Activity == infrav1.AgentIdle || agent.Activity == infrav1.AgentStaged, reason, "")
}

func (c conditions) nodeUpdated() {
	agent, desired := c.host.Status.Agent, c.host.Spec.Desired
	if agent == nil || !runsClaim(c.host) || desired.Image.Digest() == "" {
		c.drop(infrav1.ConditionNodeUpdated)
		return
	}
	wanted := desired.Image.Digest()
	switch {
	case agent.Booted != nil && agent.Booted.Digest == wanted:
		c.set(infrav1.ConditionNodeUpdated, true, infrav1.ReasonUpdateSucceeded, "")
	case agent.Failure != nil && agent.Failure.Digest == wanted:
		reason := infrav1.ReasonUpdateFailed
		if agent.Failure.Reason == infrav1.ReasonRolledBack {
			reason = infrav1.ReasonRolledBack
		}
		c.set(infrav1.ConditionNodeUpdated, false, reason, agent.Failure.Message)
	default:
		c.set(infrav1.ConditionNodeUpdated, false, infrav1.ReasonUpdateInProgress, "")
	}
}

func (c conditions) degraded(seen observed, step lifecycle.Step) {
	var wrong []string
	if seen.view.BMC.Trouble != "" {
		wrong = append(wrong, fmt.Sprintf("BMC: %s: %s", seen.view.BMC.Trouble, seen.view.BMC.Message))
	}
	switch step.Reason {
	case infrav1.ReasonAttemptsExhausted, infrav1.ReasonAgentLost, infrav1.ReasonRootDeviceMissing, infrav1.ReasonNoNetbootImage, infrav1.ReasonNoPowerControl:
		wrong = append(wrong, step.Message)
	}
	if seen.barred != nil {
		wrong = append(wrong, "the agent of the host cannot be let in: "+seen.barred.Error())
	}
	if agent := c.host.Status.Agent; agent != nil && agent.Failure != nil && runsClaim(c.host) {
		wrong = append(wrong, fmt.Sprintf("image %s failed: %s: %s", agent.Failure.Digest, agent.Failure.Reason, agent.Failure.Message))
	}
	if len(wrong) > 0 {
		c.set(infrav1.ConditionDegraded, true, infrav1.ReasonError, clip(strings.Join(wrong, "; ")))
		return
	}
	c.set(infrav1.ConditionDegraded, false, infrav1.ReasonHealthy, "")
}
