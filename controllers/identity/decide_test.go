// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	"pgregory.net/rapid"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const netbootUser = "system:serviceaccount:repave-system:repave-netboot"

// firstRequest is a first certificate that is beyond doubt.
func firstRequest() View {
	return View{
		Signer:       certificatesv1.KubeAPIServerClientSignerName,
		Requester:    netbootUser,
		Groups:       []string{"system:serviceaccounts", "system:authenticated"},
		Labelled:     true,
		Order:        "op.1",
		Usages:       []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		Lifetime:     24 * time.Hour,
		CommonName:   "repave:host:ns:h1",
		Organization: []string{infrav1.HostGroup},
		NetbootUsers: []string{netbootUser},
		Host:         Host{Exists: true, Order: "op.1", Redeemed: true},
	}
}

// renewal is a renewal that is beyond doubt: the host has no order open.
func renewal() View {
	v := firstRequest()
	v.Requester, v.Groups, v.Order = "repave:host:ns:h1", []string{infrav1.HostGroup, "system:authenticated"}, ""
	v.Host = Host{Exists: true}
	return v
}

func TestDecide(t *testing.T) {
	ignored := Decision{Verdict: Ignore}
	for _, c := range []struct {
		name   string
		view   func() View
		change func(*View)
		want   Decision
	}{
		{"first certificate of the current order", firstRequest, func(*View) {}, Decision{Approve, "first certificate of order op.1"}},
		{"renewal by the agent itself", renewal, func(*View) {}, Decision{Approve, "renewal by the host's own agent"}},
		{"renewal with an RSA key", renewal, func(v *View) { v.Usages = append(v.Usages, certificatesv1.UsageKeyEncipherment) }, Decision{Approve, "renewal by the host's own agent"}},
		{"renewal without the label", renewal, func(v *View) { v.Labelled = false }, Decision{Approve, "renewal by the host's own agent"}},

		{"decided already", firstRequest, func(v *View) { v.Decided = true }, ignored},
		{"another signer", firstRequest, func(v *View) { v.Signer = certificatesv1.KubeletServingSignerName }, ignored},
		{"of somebody else", firstRequest, func(v *View) { v.Labelled, v.CommonName, v.Organization = false, "alice", []string{"admins"} }, ignored},
		{"malformed, of somebody else", firstRequest, func(v *View) { v.Labelled, v.Malformed, v.CommonName, v.Organization = false, true, "", nil }, ignored},

		{"malformed", firstRequest, func(v *View) { v.Malformed, v.CommonName, v.Organization = true, "", nil }, deny("the request is not one signed certificate request")},
		{"the label on somebody else's subject", firstRequest, func(v *View) { v.CommonName, v.Organization = "alice", nil }, deny("the common name must be repave:host:<namespace>:<name>")},
		{"the group with another name", firstRequest, func(v *View) { v.Labelled, v.CommonName = false, "system:admin" }, deny("the common name must be repave:host:<namespace>:<name>")},
		{"a name with too many parts", firstRequest, func(v *View) { v.CommonName += ":x" }, deny("the common name must be repave:host:<namespace>:<name>")},
		{"no organization", firstRequest, func(v *View) { v.Organization = nil }, deny("the organization must be repave:hosts and nothing else")},
		{"one organization too many", renewal, func(v *View) { v.Organization = append(v.Organization, "system:masters") }, deny("the organization must be repave:hosts and nothing else")},
		{"alternative names", renewal, func(v *View) { v.Extras = true }, deny("the request must have no alternative names and no other parts of a subject")},
		{"a server's certificate", renewal, func(v *View) { v.Usages = append(v.Usages, certificatesv1.UsageServerAuth) }, deny("the usages must be client auth, digital signature and, for RSA keys, key encipherment")},
		{"no usage", renewal, func(v *View) { v.Usages = nil }, deny("the usages must be client auth, digital signature and, for RSA keys, key encipherment")},
		{"no lifetime", renewal, func(v *View) { v.Lifetime = 0 }, deny("expirationSeconds must be set and at most 7776000")},
		{"a year", renewal, func(v *View) { v.Lifetime = 365 * 24 * time.Hour }, deny("expirationSeconds must be set and at most 7776000")},

		{"no such host", firstRequest, func(v *View) { v.Host = Host{} }, deny("there is no such host")},
		{"renewal of a host that is gone", renewal, func(v *View) { v.Host = Host{} }, deny("there is no such host")},
		{"renewal of a host that goes", renewal, func(v *View) { v.Host.Deleting = true }, deny("the host is being deleted")},
		{"renewal by another agent", renewal, func(v *View) { v.Requester = "repave:host:ns:h2" }, deny("repave:host:ns:h2 may not ask for the certificate of a host")},
		{"renewal by a user of that name without the group", renewal, func(v *View) { v.Groups = nil }, deny("repave:host:ns:h1 may not ask for the certificate of a host")},
		{"a first certificate asked for by anybody", firstRequest, func(v *View) { v.Requester = "alice" }, deny("alice may not ask for the certificate of a host")},
		{"no netboot server is known", firstRequest, func(v *View) { v.NetbootUsers = nil }, deny(netbootUser + " may not ask for the certificate of a host")},
		{"no order", firstRequest, func(v *View) { v.Order = "" }, deny("the request names no order (annotation repave.io/order)")},
		{"no operation", firstRequest, func(v *View) { v.Host.Order, v.Host.Redeemed = "", false }, deny("no install of the host is open")},
		{"neither order nor operation", firstRequest, func(v *View) { v.Order, v.Host.Order = "", "" }, deny("the request names no order (annotation repave.io/order)")},
		{"an outdated order", firstRequest, func(v *View) { v.Host.Order = "op.2" }, deny("order op.1 is not the current order of the host")},
		{"an order that was not redeemed", firstRequest, func(v *View) { v.Host.Redeemed = false }, deny("the plan of order op.1 was not handed out")},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.view()
			c.change(&v)
			if diff := cmp.Diff(c.want, Decide(v)); diff != "" {
				t.Fatalf("-want +got:\n%s", diff)
			}
		})
	}
}

// Whatever is approved is exactly the certificate of one existing host, asked for by that host or by a netboot server.
func TestApprovedIsBeyondDoubt(t *testing.T) {
	approved := 0
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom([]func() View{firstRequest, renewal}).Draw(t, "base")()
		spoil(t, spoilers(&v))
		if Decide(v).Verdict != Approve {
			return
		}
		approved++
		sound := v.Signer == certificatesv1.KubeAPIServerClientSignerName && v.CommonName == "repave:host:ns:h1" && len(v.Organization) == 1 &&
			v.Organization[0] == infrav1.HostGroup && !v.Extras && !v.Malformed && !v.Decided && v.Host.Exists && !v.Host.Deleting
		own := v.Requester == v.CommonName && len(v.Groups) > 0
		order := v.Requester == netbootUser && len(v.NetbootUsers) == 1 && v.Order != "" && v.Order == v.Host.Order && v.Host.Redeemed
		if !sound || !own && !order {
			t.Fatalf("approved %+v", v)
		}
	})
	if approved == 0 {
		t.Fatal("nothing was approved, so nothing was checked")
	}
}

// spoil changes up to three things about a view.
func spoil(t *rapid.T, ways []func()) {
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		ways[rapid.IntRange(0, len(ways)-1).Draw(t, "change")]()
	}
}

func spoilers(v *View) []func() {
	return []func(){
		func() { v.Signer = certificatesv1.KubeletServingSignerName },
		func() { v.Requester = "repave:host:ns:h2" },
		func() { v.Requester = v.CommonName },
		func() { v.Requester = "alice" },
		func() { v.Requester = netbootUser },
		func() { v.Groups = nil },
		func() { v.Labelled = false },
		func() { v.Order = "op.2" },
		func() { v.Order = "" },
		func() { v.Usages = append(v.Usages, certificatesv1.UsageServerAuth) },
		func() { v.Lifetime = 2 * longest },
		func() { v.Decided = true },
		func() { v.Malformed, v.CommonName, v.Organization = true, "", nil },
		func() { v.CommonName = "repave:host:ns:h1:x" },
		func() { v.CommonName = "alice" },
		func() { v.Organization = nil },
		func() { v.Organization = append(v.Organization, "system:masters") },
		func() { v.Extras = true },
		func() { v.NetbootUsers = nil },
		func() { v.Host = Host{} },
		func() { v.Host.Deleting = true },
		func() { v.Host.Order, v.Host.Redeemed = "op.2", true },
		func() { v.Host.Order = "" },
		func() { v.Host.Redeemed = false },
	}
}
