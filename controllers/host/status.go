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

// historyLength is how many ended operations status keeps.
const historyLength = 10

// report writes into status what was seen and what comes next. It leaves the agent's and the netboot server's parts alone.
func (r *Reconciler) report(host *infrav1.RepaveHost, seen observed, step lifecycle.Step) {
	status := &host.Status
	record := step.Record
	status.Phase, status.ObservedGeneration = step.Phase, host.Generation
	status.Operation, status.Operations, status.Installed = record.Operation.DeepCopy(), record.Acknowledged, record.Installed
	status.History = history(status.History, record.Ended)
	reportBMC(host, seen, record)
	status.NodeRef = nil
	if host.Spec.ClaimRef != nil && status.Agent != nil && status.Agent.NodeName != "" {
		status.NodeRef = &infrav1.NodeReference{Name: status.Agent.NodeName}
	}
	c := conditions{host}
	c.set(infrav1.ConditionReady, step.Ready, step.Reason, step.Message)
	c.bmcReachable(seen.view)
	c.provisioned(seen.view, step)
	c.repaved(record)
	c.agent(seen.view)
	c.nodeUpdated()
	c.degraded(seen, step)
}

// reportUnreadable says that nothing is done to the host, and why.
func reportUnreadable(host *infrav1.RepaveHost, seen observed) {
	c := conditions{host}
	c.set(infrav1.ConditionReady, false, infrav1.ReasonRecordUnreadable, clip(seen.unreadable.Error()))
	c.set(infrav1.ConditionDegraded, true, infrav1.ReasonError, clip(seen.unreadable.Error()))
	host.Status.ObservedGeneration = host.Generation
}

// history puts the operation that ended last in front, once.
func history(have []infrav1.OperationRecord, ended *infrav1.OperationRecord) []infrav1.OperationRecord {
	if ended == nil {
		return have
	}
	for i := range have {
		// An operation that gave up may yet be proven: its line is replaced.
		if have[i].ID == ended.ID {
			have[i] = *ended.DeepCopy()
			return have
		}
	}
	have = append([]infrav1.OperationRecord{*ended.DeepCopy()}, have...)
	return have[:min(len(have), historyLength)]
}

func reportBMC(host *infrav1.RepaveHost, seen observed, record lifecycle.Record) {
	status := &host.Status
	if host.Spec.BMC == nil {
		status.BMC, status.Power = nil, ""
		return
	}
	if status.BMC == nil && (record.Fingerprint != "" || !seen.view.BMC.At.IsZero()) {
		status.BMC = &infrav1.BMCStatus{}
	}
	if status.BMC == nil {
		return
	}
	status.BMC.CertificateFingerprint = record.Fingerprint
	if seen.view.BMC.At.IsZero() {
		return
	}
	identity := seen.identity
	status.Power = seen.view.BMC.Power
	status.BMC.Manufacturer, status.BMC.Model, status.BMC.SerialNumber = identity.Manufacturer, identity.Model, identity.SerialNumber
	status.BMC.UUID, status.BMC.FirmwareVersion = cut(identity.UUID, 64), cut(identity.FirmwareVersion, 253)
	status.BMC.Capabilities = infrav1.BMCCapabilities{
		ResetTypes: first(identity.ResetTypes, 32), BootTargets: first(identity.BootTargets, 32), HTTPBootURI: identity.HTTPBootURI,
	}
}

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
	if agent == nil || agent.Activity == "" {
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
	if agent == nil || desired == nil || desired.Image.Digest() == "" {
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
	if agent := c.host.Status.Agent; agent != nil && agent.Failure != nil {
		wrong = append(wrong, fmt.Sprintf("image %s failed: %s: %s", agent.Failure.Digest, agent.Failure.Reason, agent.Failure.Message))
	}
	if len(wrong) > 0 {
		c.set(infrav1.ConditionDegraded, true, infrav1.ReasonError, clip(strings.Join(wrong, "; ")))
		return
	}
	c.set(infrav1.ConditionDegraded, false, infrav1.ReasonHealthy, "")
}

// clip keeps a message within what conditions and their readers take.
func clip(message string) string { return cut(message, 4096) }

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

func first(list []string, most int) []string { return list[:min(len(list), most)] }
