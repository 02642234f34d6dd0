// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// readable are the Secrets that the agent of the host may read.
func (w *world) readable() []string {
	w.t.Helper()
	role := &rbacv1.Role{}
	w.Expect(direct.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: infrav1.AgentRoleName(w.key.Name)}, role)).To(Succeed())
	for _, rule := range role.Rules {
		if rule.Resources[0] == "secrets" {
			return rule.ResourceNames
		}
	}
	return nil
}

// TestSecretsOfAClaimAreForItsInstall: until the install is proven, the agent of the claim before may still run on the host.
func TestSecretsOfAClaimAreForItsInstall(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.edit(w.claim)
	w.turn() // from the first look at a claim on, the agent has a Role
	for w.host().Status.Installed == "" {
		w.Expect(w.readable()).To(BeEmpty())
		w.turn()
	}
	w.settle()
	w.Expect(w.readable()).To(Equal([]string{"join", "pull"}))
}

// TestATakenRoleIsShownAndStopsNothing: somebody else's Role of that name keeps the agent out, not the host from being served.
func TestATakenRoleIsShownAndStopsNothing(t *testing.T) {
	w := newWorld(t, func(h *infrav1.RepaveHost) { h.Spec.BMC = nil }) // taken as it runs: its agent is let in before a claim
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: infrav1.AgentRoleName(w.key.Name)}}
	yes := true
	role.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "theirs", Controller: &yes}}
	w.Expect(direct.Create(t.Context(), role)).To(Succeed())
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonAvailable)
	degraded := w.condition(infrav1.ConditionDegraded)
	w.Expect(degraded.Message).To(ContainSubstring("it belongs to another object"))
	w.Expect(w.turn().RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", troublePause)))
	w.Expect(direct.Delete(t.Context(), role)).To(Succeed())
	w.settle()
	w.says(infrav1.ConditionDegraded, infrav1.ReasonHealthy)
}
