// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

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
	if runsClaim(host) && status.Agent != nil && status.Agent.NodeName != "" {
		status.NodeRef = &infrav1.NodeReference{Name: status.Agent.NodeName}
	}
	c := conditions{host}
	c.set(infrav1.ConditionPaused, false, clusterv1.NotPausedReason, "")
	c.set(infrav1.ConditionReady, step.Ready, step.Reason, step.Message)
	c.bmcReachable(seen.view)
	c.provisioned(seen.view, step)
	c.repaved(record)
	c.agent(seen.view)
	c.nodeUpdated()
	c.degraded(seen, step)
}

// runsClaim says whether what the agent reported last is of the claim of now: its status stays when a claim ends.
func runsClaim(host *infrav1.RepaveHost) bool {
	return host.Spec.ClaimRef != nil && host.Spec.Desired != nil && host.Status.Installed == host.Spec.Desired.ProviderID
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
	status.BMC.Manufacturer, status.BMC.Model, status.BMC.SerialNumber = cut(identity.Manufacturer, 253), cut(identity.Model, 253), cut(identity.SerialNumber, 253)
	status.BMC.UUID, status.BMC.FirmwareVersion = cut(identity.UUID, 64), cut(identity.FirmwareVersion, 253)
	status.BMC.Capabilities = infrav1.BMCCapabilities{
		ResetTypes: first(identity.ResetTypes, 32), BootTargets: first(identity.BootTargets, 32), HTTPBootURI: identity.HTTPBootURI,
	}
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
