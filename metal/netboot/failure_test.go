// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

func TestAFailureIsKept(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := newHost(t, nil)
	url := s.verb(host, "op.1", orderv1.VerbFailure)
	quoting := "fetching " + s.verb(host, "op.1", orderv1.VerbPlan) + ":\nno disk matches"
	g.Expect(post(t, url, orderv1.Failure{Reason: infrav1.ReasonDiskNotFound, Message: quoting}).status).To(Equal(http.StatusNoContent))
	kept := netbootStatus(t, host)
	g.Expect(kept.Failure.Order).To(Equal("op.1"))
	g.Expect(kept.Failure.Reason).To(Equal(infrav1.ReasonDiskNotFound))
	g.Expect(kept.Failure.Message).To(HaveSuffix("/[redacted]/plan: no disk matches"))
	s.keepsSecrets(t, host, s.said(), "op.1")

	// The first word counts, and a repetition writes nothing.
	version := host.ResourceVersion
	g.Expect(post(t, url, orderv1.Failure{Reason: infrav1.ReasonInstallFailed, Message: "another"}).status).To(Equal(http.StatusNoContent))
	g.Expect(netbootStatus(t, host)).To(Equal(kept))
	g.Expect(host.ResourceVersion).To(Equal(version))

	// The next attempt replaces it, and what was redeemed stays.
	post(t, s.verb(host, "op.1", orderv1.VerbPlan), nil).into(t, &orderv1.Plan{})
	operate(t, host, func(op *infrav1.Operation) { op.Attempt = 2 })
	g.Expect(post(t, url, orderv1.Failure{Reason: infrav1.ReasonInstallFailed}).status).To(Equal(http.StatusForbidden), "of an outdated order")
	next := s.verb(host, "op.2", orderv1.VerbFailure)
	g.Expect(post(t, next, orderv1.Failure{Reason: infrav1.ReasonWrongHost, Message: "two"}).status).To(Equal(http.StatusNoContent))
	g.Expect(netbootStatus(t, host)).To(Equal(infrav1.NetbootStatus{
		RedeemedOrder: "op.1",
		Failure:       &infrav1.InstallFailure{Order: "op.2", Reason: infrav1.ReasonWrongHost, Message: "two"},
	}))
}

func TestBadFailures(t *testing.T) {
	s := startSite(t, nil)
	host := newHost(t, nil)
	url := s.verb(host, "op.1", orderv1.VerbFailure)
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"no body":         {"", http.StatusBadRequest},
		"no JSON":         {"reason", http.StatusBadRequest},
		"two values":      {`{"reason":"WrongHost"}{}`, http.StatusBadRequest},
		"no reason":       {`{}`, http.StatusBadRequest},
		"another reason":  {`{"reason":"Ready"}`, http.StatusBadRequest},
		"another type":    {`{"reason":1}`, http.StatusBadRequest},
		"too long a body": {`{"reason":"WrongHost","message":"` + strings.Repeat("x", maxBodyBytes) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(send(t, http.MethodPost, url, []byte(c.body), nil).status).To(Equal(c.want))
			g.Expect(netbootStatus(t, host).Failure).To(BeNil())
		})
	}
}

func TestMessagesFitAndHoldNoSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := siteKey.Token("uid", "op.1")
		message := string(rapid.SliceOfN(rapid.Byte(), 0, 1500).Draw(t, "before")) + secret + rapid.String().Draw(t, "after")
		got := printable(message, secret)
		if len(got) > maxMessageBytes || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00") || strings.Contains(got, secret) {
			t.Fatalf("%q became %q", message, got)
		}
	})
}
