// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/registry"
)

// A netboot image that cannot be had, or is not what its digest says, costs nobody anything: no host is touched for it, and the
// install goes on by itself when the registry is mended.
func TestNoHostIsTouchedForANetbootImageThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, prefix string
		fault        registry.Fault
		reason       string
	}{
		{"unknown", "unknown", registry.Fault{Kind: registry.NotFound, Part: "/netboot/"}, infrav1.ReasonImageNotFound},
		{"other bytes than the digest's", "corrupt", registry.Fault{Kind: registry.Corrupt, Part: "/netboot/blobs/", After: 1000}, infrav1.ReasonDigestMismatch},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := ready(t, test.prefix, 1)
			server := r.fleet.Servers[0]
			v1 := r.publish("v1", small)
			r.registry.Inject(test.fault)
			r.pool(test.prefix, 1, v1)

			c := r.hostSays(server.Name, infrav1.ConditionReady, test.reason)
			r.Expect(c.Status).To(Equal(metav1.ConditionFalse))
			r.hostSays(server.Name, infrav1.ConditionProvisioned, test.reason)
			r.untouched(server)

			r.registry.ClearFaults()
			r.runs(test.prefix+"-pool", 1, v1)
			r.Expect(server.Box.Count("Installed")).To(Equal(1))
			r.Expect(r.host(r, server.Name).Status.History[0].Attempts).To(BeEquivalentTo(1), "waiting for an image is no attempt")
		})
	}
}

// An OS image that cannot be brought onto the members stops the rollout before anybody is disturbed.
func TestAnOSImageThatCannotBeStagedDisturbsNobody(t *testing.T) {
	t.Parallel()
	r := ready(t, "staging", 2)
	v1 := r.publish("v1", small)
	r.pool("staging", 2, v1)
	r.runs("staging-pool", 2, v1)

	for _, test := range []struct {
		version string
		kind    registry.FaultKind
		part    string
		reason  string
	}{
		{"v2", registry.NotFound, "/os/", infrav1.ReasonImageNotFound},
		{"v3", registry.Corrupt, "/os/blobs/", infrav1.ReasonDigestMismatch},
	} {
		bad := r.publish(test.version, small)
		r.registry.Inject(registry.Fault{Kind: test.kind, Part: test.part, After: 1000})
		r.setImage("staging-pool", bad)
		r.eventually("the agents say why they cannot stage "+test.version, func(g Gomega) {
			for _, server := range r.fleet.Servers {
				failure := r.host(g, server.Name).Status.Agent.Failure
				g.Expect(failure).NotTo(BeNil())
				g.Expect(*failure).To(And(HaveField("Digest", bad.digest()), HaveField("Stage", infrav1.FailedStage), HaveField("Reason", test.reason)))
			}
		})
		for _, server := range r.fleet.Servers {
			r.hostSays(server.Name, infrav1.ConditionNodeUpdated, infrav1.ReasonUpdateFailed)
		}
		r.machinesSay("staging-pool", infrav1.ConditionUpToDate, infrav1.ReasonStageFailed)
		c := r.poolSays("staging-pool", infrav1.ConditionUpToDate, infrav1.ReasonHalted)
		r.Expect(c.Message).To(ContainSubstring("2"), "how many failed")
		r.poolSays("staging-pool", infrav1.ConditionDegraded, infrav1.ReasonHostDegraded)
		for _, server := range r.fleet.Servers {
			r.Expect(r.cordoned(r, server.Name)).To(BeFalse())
			r.Expect(server.Box.Count("Booted")).To(Equal(1), "nobody was rebooted")
			r.Expect(strings.HasSuffix(v1.os, server.Box.Running())).To(BeTrue())
		}
		r.registry.ClearFaults()
	}

	v4 := r.publish("v4", small)
	r.setImage("staging-pool", v4)
	r.runs("staging-pool", 2, v4)
	r.poolSays("staging-pool", infrav1.ConditionUpToDate, infrav1.ReasonAllUpdated)
	r.poolSays("staging-pool", infrav1.ConditionDegraded, infrav1.ReasonHealthy)
}
