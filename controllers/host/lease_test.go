// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// TestClocksOfServersNeedNotBeRight: an agent lives as long as it goes on renewing, whatever its clock says.
func TestClocksOfServersNeedNotBeRight(t *testing.T) {
	for name, off := range map[string]time.Duration{"right": 0, "a day behind": -24 * time.Hour, "a day ahead": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(h *infrav1.RepaveHost) { h.Spec.BMC = nil })
			w.settle()
			w.editStatus(func(s *infrav1.RepaveHostStatus) { s.Agent = &infrav1.AgentStatus{BootID: "b1"} })
			var before *coordinationv1.Lease
			renews := func() (wakes bool) {
				lease := &coordinationv1.Lease{}
				w.Expect(direct.Get(t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: infrav1.LeaseName(w.key.Name)}, lease)).To(Succeed())
				before = lease.DeepCopy()
				lease.Spec.RenewTime = &metav1.MicroTime{Time: w.clock.Add(off)}
				w.Expect(direct.Update(t.Context(), lease)).To(Succeed())
				return w.r.revived().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: lease})
			}
			// The box of the world has no power, so that nothing renews but this.
			w.Expect(renews()).To(BeTrue(), "the first renewal")
			w.clock = w.clock.Add(10 * time.Second)
			renews()
			for range 3 {
				w.turn()
				w.says(infrav1.ConditionAgentConnected, infrav1.ReasonConnected)
				w.clock = w.clock.Add(10 * time.Second)
				w.Expect(renews()).To(BeFalse(), "renewals in time wake nobody")
			}
			w.clock = w.clock.Add(w.r.Limits.Lease)
			w.turn()
			w.says(infrav1.ConditionAgentConnected, infrav1.ReasonLeaseExpired)
			w.Expect(renews()).To(BeTrue(), "the agent is back")
			w.turn()
			w.says(infrav1.ConditionAgentConnected, infrav1.ReasonConnected)
		})
	}
}
