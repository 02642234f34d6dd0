// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Two pools want the same host: one gets it. The other says that there is none, and has it as soon as it is given back.
func TestOfTwoPoolsOneGetsTheHostAndTheOtherWaitsForIt(t *testing.T) {
	t.Parallel()
	r := ready(t, "claim", 1)
	server := r.fleet.Servers[0]
	v1 := r.publish("v1", small)
	r.pool("claim-a", 1, v1)
	r.pool("claim-b", 1, v1)

	var winner, loser string
	r.eventually("one pool has the host, the other says that it has none", func(g Gomega) {
		a, b := r.machines(g, "claim-a-pool"), r.machines(g, "claim-b-pool")
		g.Expect(a).To(HaveLen(1))
		g.Expect(b).To(HaveLen(1))
		reason := func(m infrav1.RepaveMachine) string {
			return said(g, m.Status.Conditions, infrav1.ConditionHostClaimed).Reason
		}
		winner, loser = "claim-a-pool", "claim-b-pool"
		if reason(b[0]) == infrav1.ReasonClaimed {
			winner, loser = loser, winner
		}
		g.Expect([]string{reason(a[0]), reason(b[0])}).To(ConsistOf(infrav1.ReasonClaimed, infrav1.ReasonNoHostAvailable))
	})
	r.runs(winner, 1, v1)
	r.machinesSay(loser, infrav1.ConditionReady, infrav1.ReasonNoHostAvailable)
	r.poolSays(loser, infrav1.ConditionDegraded, infrav1.ReasonHostConflict)
	r.Expect(server.Box.Count("Installed")).To(Equal(1))
	first := r.host(r, server.Name).Spec.ClaimRef

	r.scale(winner, 0)
	r.runs(loser, 1, v1)
	host := r.host(r, server.Name)
	r.Expect(host.Spec.ClaimRef).NotTo(Equal(first))
	r.Expect(server.Box.Count("Installed")).To(Equal(2), "once for each claim")
	offs, ons := power(server)
	r.Expect([]int{offs, ons}).To(Equal([]int{1, 2}), "off when it was given back, on for each claim")
	r.poolSays(loser, infrav1.ConditionDegraded, infrav1.ReasonHealthy)
	r.Expect(said(r, host.Status.Conditions, infrav1.ConditionProvisioned).Status).To(Equal(metav1.ConditionTrue))
}
