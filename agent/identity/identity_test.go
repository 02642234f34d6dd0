// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/repave-io/cluster-api-provider-repave/agent/host"
	"github.com/repave-io/cluster-api-provider-repave/agent/identity"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

const credential = "one-time-credential"

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// authority signs what it is given.
type authority struct {
	key    *ecdsa.PrivateKey
	parent *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key: key, parent: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}}}
}

func (a *authority) sign(csr []byte, from time.Time, life time.Duration) []byte {
	block, _ := pem.Decode(csr)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: request.Subject, NotBefore: from, NotAfter: from.Add(life),
	}, a.parent, request.PublicKey, a.key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func newIdentity(t *testing.T, c clock.Clock) (*identity.Identity, *bytes.Buffer) {
	t.Helper()
	h, err := host.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	var log bytes.Buffer
	return &identity.Identity{
		Host: orderv1.Host{Namespace: "ns", Name: "h1"}, Files: h, Clock: c,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, &log
}

// netboot answers as the netboot server does: after the statuses given, with a certificate.
type netboot struct {
	t        *testing.T
	ca       *authority
	statuses []int
	answer   func([]byte) []byte

	mu   sync.Mutex
	csrs [][]byte
}

func (n *netboot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if got := r.Header.Get("Authorization"); r.Method != http.MethodPost || got != "Bearer "+credential {
		n.t.Errorf("%s with authorization %q", r.Method, got)
	}
	var request orderv1.CertificateRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		n.t.Error(err)
	}
	n.csrs = append(n.csrs, request.CSR)
	if len(n.statuses) > 0 {
		status := n.statuses[0]
		n.statuses = n.statuses[1:]
		w.Header().Set("Location", "http://elsewhere.invalid/")
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "echo "+r.Header.Get("Authorization"))
		return
	}
	_ = json.NewEncoder(w).Encode(orderv1.Certificate{Certificate: n.answer(request.CSR)})
}

// soon is a clock whose waits end at once; it remembers how long they were.
type soon struct {
	*clocktesting.FakeClock
	waits []time.Duration
}

func (s *soon) NewTimer(d time.Duration) clock.Timer {
	s.waits = append(s.waits, d)
	timer := s.FakeClock.NewTimer(d)
	s.Step(max(d, 0))
	return timer
}

func TestEnrol(t *testing.T) {
	ca := newAuthority(t)
	good := func(csr []byte) []byte { return ca.sign(csr, start, time.Hour) }
	for _, test := range []struct {
		name     string
		statuses []int
		answer   func([]byte) []byte
		bad      bool
	}{
		{name: "at once", answer: good},
		{name: "signed later", statuses: []int{202, 202}, answer: good},
		{name: "the server is in trouble, then refuses, then moves", statuses: []int{500, 403, 307}, answer: good},
		{name: "a certificate for another key", bad: true, answer: func([]byte) []byte {
			other, _ := newIdentity(t, clock.RealClock{})
			n := &netboot{t: t, ca: ca, answer: good}
			server := httptest.NewServer(n)
			defer server.Close()
			if _, err := other.Enrol(t.Context(), orderv1.Enrolment{URL: server.URL, Credential: credential}, server.Client()); err != nil {
				t.Error(err)
			}
			return good(n.csrs[0])
		}},
		{name: "no certificate", bad: true, answer: func([]byte) []byte { return []byte("hello") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &soon{FakeClock: clocktesting.NewFakeClock(start)}
			id, log := newIdentity(t, c)
			n := &netboot{t: t, ca: ca, statuses: test.statuses, answer: test.answer}
			asked := len(test.statuses) + 1
			server := httptest.NewServer(n)
			defer server.Close()
			certificate, err := id.Enrol(t.Context(), orderv1.Enrolment{URL: server.URL, Credential: credential}, server.Client())
			if (err != nil) != test.bad {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(log.String(), credential) || err != nil && strings.Contains(err.Error(), credential) {
				t.Errorf("the credential is in log or error: %s, %v", log, err)
			}
			if test.bad {
				return
			}
			loaded, err := id.Load()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(certificate.Certificate, loaded.Certificate); diff != "" {
				t.Error(diff)
			}
			subject := loaded.Leaf.Subject
			if subject.CommonName != infrav1.HostUser("ns", "h1") || !cmp.Equal(subject.Organization, []string{infrav1.HostGroup}) {
				t.Errorf("subject %s", subject)
			}
			if len(n.csrs) != asked || !bytes.Equal(n.csrs[0], n.csrs[asked-1]) {
				t.Errorf("asked %d times, not always the same", len(n.csrs))
			}
			if strings.HasPrefix(test.name, "signed") && !cmp.Equal(c.waits, []time.Duration{3 * time.Second, 3 * time.Second}) {
				t.Errorf("waited %v, was told 3 s", c.waits)
			}
		})
	}
}

func TestKilledEnrolmentAsksForTheSameCertificate(t *testing.T) {
	ca := newAuthority(t)
	id, _ := newIdentity(t, clock.RealClock{})
	ctx, kill := context.WithCancel(t.Context())
	n := &netboot{t: t, ca: ca, answer: func(csr []byte) []byte {
		kill() // the answer never arrives
		return ca.sign(csr, start, time.Hour)
	}}
	server := httptest.NewServer(n)
	defer server.Close()
	enrolment := orderv1.Enrolment{URL: server.URL, Credential: credential}
	if _, err := id.Enrol(ctx, enrolment, server.Client()); !errors.Is(err, context.Canceled) {
		// The answer may have been on its way already: then it was taken, which is as well.
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := id.Enrol(t.Context(), enrolment, server.Client()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(n.csrs[0], n.csrs[1]) {
		t.Error("a restarted agent asks with another key: the credential is good for one only")
	}
}

// approver is an API that answers requests as it is told.
type approver struct {
	ca      *authority
	clock   clock.Clock
	refuse  int // how many are denied first
	pending int // how often a request is not answered yet
	forget  int // how often a request is gone

	requests []*certificatesv1.CertificateSigningRequest
}

func (a *approver) CreateRequest(_ context.Context, r *certificatesv1.CertificateSigningRequest) error {
	a.requests = append(a.requests, r)
	return nil
}

func (a *approver) Request(_ context.Context, name string) (*certificatesv1.CertificateSigningRequest, error) {
	r := a.requests[len(a.requests)-1].DeepCopy()
	switch {
	case r.Name != name:
		panic("another request than the last one is read")
	case a.forget > 0:
		a.forget--
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	case a.pending > 0:
		a.pending--
	case a.refuse > 0:
		a.refuse--
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, Reason: "No"}}
	default:
		r.Status.Certificate = a.ca.sign(r.Spec.Request, a.clock.Now(), 90*time.Hour)
	}
	return r, nil
}

func TestRenewal(t *testing.T) {
	for _, test := range []struct {
		name     string
		approver approver
		requests int
		keys     int // different keys among the requests of the first renewal
	}{
		{name: "at once", requests: 1, keys: 1},
		{name: "later", approver: approver{pending: 3}, requests: 1, keys: 1},
		{name: "denied first: another key", approver: approver{refuse: 1}, requests: 2, keys: 2},
		{name: "cleaned up before it was signed: another key", approver: approver{forget: 1}, requests: 2, keys: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &soon{FakeClock: clocktesting.NewFakeClock(start)}
			id, _ := newIdentity(t, c)
			a := test.approver
			a.ca, a.clock = newAuthority(t), c
			first, err := id.Enrol(t.Context(), enrolmentAt(t, a.ca), http.DefaultClient)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var used tls.Certificate
			var when time.Time
			id.Keep(ctx, first, &a, func(next tls.Certificate) {
				used, when = next, c.Now()
				cancel()
			})
			if used.Leaf == nil || when.Before(start.Add(60*time.Hour)) || when.After(start.Add(65*time.Hour)) {
				t.Fatalf("renewed %v after the start, want 60 h of 90 h", when.Sub(start))
			}
			names := map[string]bool{}
			for _, r := range a.requests {
				names[r.Name] = true
			}
			if len(a.requests) != test.requests || len(names) != test.keys {
				t.Errorf("%d requests with %d keys, want %d with %d", len(a.requests), len(names), test.requests, test.keys)
			}
			if used.Leaf.PublicKey.(*ecdsa.PublicKey).Equal(first.Leaf.PublicKey) {
				t.Error("renewed with the old key")
			}
			loaded, err := id.Load()
			if err != nil || !bytes.Equal(loaded.Certificate[0], used.Certificate[0]) {
				t.Errorf("the certificate in use is not the one on disk: %v", err)
			}
		})
	}
}

func TestRenewalAsksForWhatTheApproverExpects(t *testing.T) {
	c := &soon{FakeClock: clocktesting.NewFakeClock(start)}
	id, _ := newIdentity(t, c)
	a := &approver{ca: newAuthority(t), clock: c}
	first, err := id.Enrol(t.Context(), enrolmentAt(t, a.ca), http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	id.Keep(ctx, first, a, func(tls.Certificate) { cancel() })
	r := a.requests[0]
	if r.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName || r.Labels[infrav1.LabelHost] != "h1" || *r.Spec.ExpirationSeconds != int32(identity.Lifetime.Seconds()) {
		t.Errorf("got %+v with labels %v", r.Spec, r.Labels)
	}
	want := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth}
	if diff := cmp.Diff(want, r.Spec.Usages); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedCertificateCountsAsNone(t *testing.T) {
	id, _ := newIdentity(t, clock.RealClock{})
	if _, err := id.Load(); !errors.Is(err, identity.ErrNone) {
		t.Errorf("got %v", err)
	}
	if err := id.Files.WriteFile(identity.CertificatePath, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := id.Load(); !errors.Is(err, identity.ErrNone) {
		t.Errorf("got %v", err)
	}
}

// enrolmentAt is at a server that signs for 90 h from the start.
func enrolmentAt(t *testing.T, ca *authority) orderv1.Enrolment {
	t.Helper()
	server := httptest.NewServer(&netboot{t: t, ca: ca, answer: func(csr []byte) []byte { return ca.sign(csr, start, 90*time.Hour) }})
	t.Cleanup(server.Close)
	return orderv1.Enrolment{URL: server.URL, Credential: credential}
}
