// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// TestWhatAnEndedClaimLeft: the agent's status stays when its claim ends. It says nothing of the free host, nor of the next claim
// before that is installed.
func TestWhatAnEndedClaimLeft(t *testing.T) {
	w := serving(t)
	w.editStatus(func(s *infrav1.RepaveHostStatus) {
		s.Agent.Booted = &infrav1.HostImage{Digest: digest}
		s.Agent.Failure = &infrav1.AgentFailure{Digest: "sha256:other", Stage: infrav1.FailedBoot, Reason: infrav1.ReasonRolledBack}
	})
	w.settle()
	w.says(infrav1.ConditionNodeUpdated, infrav1.ReasonUpdateSucceeded)
	w.says(infrav1.ConditionDegraded, infrav1.ReasonError)
	nothingLeft := func() {
		t.Helper()
		w.says(infrav1.ConditionNodeUpdated, "")
		w.says(infrav1.ConditionDegraded, infrav1.ReasonHealthy)
		w.Expect(w.host().Status.NodeRef).To(BeNil())
	}
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Desired = nil })
	w.settle()
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.ClaimRef = nil })
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonAvailable)
	w.says(infrav1.ConditionIdle, "")
	nothingLeft()
	w.edit(func(h *infrav1.RepaveHost) {
		w.claim(h)
		h.Spec.RootDevice = nil // so that the install does not begin
	})
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonRootDeviceMissing)
	w.Expect(w.host().Status.NodeRef).To(BeNil())
	w.says(infrav1.ConditionNodeUpdated, "")
}
