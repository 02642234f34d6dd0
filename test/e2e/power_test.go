// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
	"github.com/repave-io/cluster-api-provider-repave/test/registry"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// The power goes while a server writes its disk. Nobody is left to say so: the attempt passes its deadline, and the next one
// installs.
func TestAPowerCutWhileTheDiskIsWrittenCostsAnAttempt(t *testing.T) {
	t.Parallel()
	r := ready(t, "cut", 1)
	server := r.fleet.Servers[0]
	v1 := r.publish("v1", small)
	server.Box.SetFaults(sim.Faults{HoldInstall: make(chan struct{})})
	r.pool("cut", 1, v1)
	r.happens(server, "Writing", 1)
	server.Box.ForceOff()
	server.Box.SetFaults(sim.Faults{})

	r.eventually("the attempt has failed", func(g Gomega) {
		op := r.host(g, server.Name).Status.Operation
		g.Expect(op).NotTo(BeNil())
		g.Expect(op.Attempt).To(BeEquivalentTo(2))
		g.Expect(op.Message).To(ContainSubstring(infrav1.ReasonTimedOut))
	})
	r.runs("cut-pool", 1, v1)
	r.Expect(server.Box.Count("Installed")).To(Equal(1))
	r.Expect(server.Box.Count("Writing")).To(Equal(2))
	r.Expect(r.host(r, server.Name).Status.History).To(ConsistOf(And(
		HaveField("Outcome", infrav1.OutcomeSucceeded), HaveField("Attempts", BeEquivalentTo(2)),
	)))
	_, ons := power(server)
	r.Expect(ons).To(Equal(2), "once for each attempt")
}

// A member loses its power while it brings an image in, while it boots into one, and while it goes back from one that does not
// come up. The first two go on; the third is not tried again.
func TestAMemberThatLosesItsPowerGoesOnAndTriesNoBadImageTwice(t *testing.T) {
	t.Parallel()
	r := ready(t, "agent", 2)
	v1, v2, v3 := r.publish("v1", small), r.publish("v2", small), r.publish("v3", small)
	r.pool("agent", 2, v1)
	r.runs("agent-pool", 2, v1)
	one, other := r.fleet.Servers[0], r.fleet.Servers[1]

	pulled := make(chan struct{})
	r.registry.Inject(registry.Fault{Kind: registry.Hold, Part: "/os/blobs/", Release: pulled})
	r.setImage("agent-pool", v2)
	r.hostSays(one.Name, infrav1.ConditionIdle, infrav1.ReasonStaging)
	cutPower(one)
	close(pulled)
	booting := one
	r.eventually("a member boots into the image", func(g Gomega) {
		if count(other, "Booted", v2.digest()) > 0 {
			booting = other
		}
		g.Expect(count(booting, "Booted", v2.digest())).To(BeNumerically(">", 0))
	})
	cutPower(booting)
	r.runs("agent-pool", 2, v2)
	for _, server := range r.fleet.Servers {
		r.Expect(server.Box.Count("BootFailed")).To(BeZero())
		r.Expect(server.Box.Count("Installed")).To(Equal(1))
	}

	bad := sim.Faults{BadImages: map[string]bool{v3.digest(): true}}
	one.Box.SetFaults(bad)
	other.Box.SetFaults(bad)
	r.setImage("agent-pool", v3)
	tried := func() int { return one.Box.Count("BootFailed") + other.Box.Count("BootFailed") }
	r.eventually("a member tries the bad image", func(g Gomega) { g.Expect(tried()).To(Equal(1)) })
	victim := one
	if other.Box.Count("BootFailed") > 0 {
		victim = other
	}
	cutPower(victim)
	r.hostSays(victim.Name, infrav1.ConditionNodeUpdated, infrav1.ReasonRolledBack)
	r.poolSays("agent-pool", infrav1.ConditionUpToDate, infrav1.ReasonHalted)
	r.eventually("both serve with the image before", func(g Gomega) {
		for _, server := range r.fleet.Servers {
			g.Expect(server.Box.Running()).To(Equal(v2.digest()))
			g.Expect(r.cordoned(g, server.Name)).To(BeFalse())
		}
	})
	r.Expect(tried()).To(Equal(1), "one member tried the bad image, once")
}

// cutPower takes the power of a server away and gives it back, as a person with a hand on the cable does.
func cutPower(s *sim.Server) {
	s.Box.ForceOff()
	s.Box.PowerOn(virtual.BootRequest{})
}
