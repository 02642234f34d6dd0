// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/agent/join"
)

// TestADiskOfAnotherClaimDoesNotJoin: the network boot of a new claim failed and the host came up with the disk of the claim
// before, whose agent still has a certificate.
func TestADiskOfAnotherClaimDoesNotJoin(t *testing.T) {
	s := newSite(t)
	s.installed("repave://ns/h1/m0")
	s.start(looking)
	s.Eventually(s.agentStatus).Should(HaveField("BootID", "boot-0"))
	joined := func() bool { return (&join.Joiner{Files: onDisk(s.root)}).Joined(claimed) }
	s.Consistently(joined, "500ms").Should(BeFalse())
	s.installed(claimed.ProviderID)
	s.Eventually(joined).Should(BeTrue())
}
