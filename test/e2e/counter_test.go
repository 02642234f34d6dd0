// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// However often a counter is raised while a reboot is under way, that is one more reboot. Lowering it is refused at the door.
func TestACounterThatIsRaisedThreeTimesInFlightAsksForOneMore(t *testing.T) {
	t.Parallel()
	r := ready(t, "count", 1)
	server := r.fleet.Servers[0]
	v1 := r.publish("v1", small)
	r.pool("count", 1, v1)
	r.runs("count-pool", 1, v1)
	raise := func(to int) error {
		return r.patch(&infrav1.RepaveHost{}, server.Name, fmt.Sprintf(`{"spec":{"operations":{"rebootCounter":%d}}}`, to))
	}

	server.Box.SetFaults(sim.Faults{Dead: true}) // the first reboot stays in flight until a person helps
	r.Expect(raise(1)).To(Succeed())
	r.eventually("the reboot waits for its proof", func(g Gomega) {
		op := r.host(g, server.Name).Status.Operation
		g.Expect(op).NotTo(BeNil())
		g.Expect(op.Step).To(Equal(infrav1.StepProving))
	})
	for to := 2; to <= 4; to++ {
		r.Expect(raise(to)).To(Succeed())
	}
	r.Expect(r.host(r, server.Name).Status.Operation.Counter).To(BeEquivalentTo(1))
	server.Box.SetFaults(sim.Faults{})
	cutPower(server)

	r.eventually("all is acknowledged", func(g Gomega) {
		host := r.host(g, server.Name)
		g.Expect(host.Status.Operations.RebootCounter).To(BeEquivalentTo(4))
		g.Expect(host.Status.Operation).To(BeNil())
	})
	r.runs("count-pool", 1, v1)
	offs, ons := power(server)
	r.Expect([]int{offs, ons}).To(Equal([]int{2, 3}), "on for the install; off and on for each of two reboots")
	r.Expect(r.host(r, server.Name).Status.History).To(HaveLen(3))

	r.Expect(raise(2)).To(MatchError(ContainSubstring("rebootCounter never goes backwards; raise it to ask for a reboot")))
	r.Expect(r.host(r, server.Name).Spec.Operations.RebootCounter).To(BeEquivalentTo(4))
}

// A paused rollout brings the image in and disturbs nobody. A budget that cannot work is refused at the door.
func TestAPausedRolloutOnlyStages(t *testing.T) {
	t.Parallel()
	r := ready(t, "pause", 2)
	v1, v2 := r.publish("v1", small), r.publish("v2", small)
	r.pool("pause", 2, v1)
	r.runs("pause-pool", 2, v1)
	rollout := func(change string) error {
		return r.patch(&infrav1.RepaveMachinePool{}, "pause-pool", `{"spec":{"rollout":`+change+`}}`)
	}

	for _, budget := range []string{`"0"`, `0`, `"0%"`, `"150%"`, `"half"`} {
		r.Expect(rollout(`{"maxUnavailable":`+budget+`}`)).To(MatchError(ContainSubstring("maxUnavailable must be a number of at least 1 or a percentage from 1% to 100%")), budget)
		r.Expect(rollout(`{"maxFailed":`+budget+`}`)).To(MatchError(ContainSubstring("maxFailed must be")), budget)
	}

	r.Expect(rollout(`{"paused":true}`)).To(Succeed())
	r.setImage("pause-pool", v2)
	for _, server := range r.fleet.Servers {
		r.hostSays(server.Name, infrav1.ConditionIdle, infrav1.ReasonStaged)
	}
	r.machinesSay("pause-pool", infrav1.ConditionUpToDate, infrav1.ReasonWaitingForSlot)
	r.poolSays("pause-pool", infrav1.ConditionUpToDate, infrav1.ReasonRolloutPaused)
	for _, server := range r.fleet.Servers {
		r.Expect(server.Box.Count("Booted")).To(Equal(1))
		r.Expect(r.cordoned(r, server.Name)).To(BeFalse())
	}

	r.Expect(rollout(`{"paused":false}`)).To(Succeed())
	r.runs("pause-pool", 2, v2)
	r.poolSays("pause-pool", infrav1.ConditionUpToDate, infrav1.ReasonAllUpdated)
}
