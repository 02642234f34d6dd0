// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"net/http"
	"testing"

	"github.com/repave-io/cluster-api-provider-repave/test/registry"

	. "github.com/onsi/gomega"
)

func TestConcurrentEnsureIsOnePull(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	release := make(chan struct{})
	r.Inject(registry.Fault{Kind: registry.Hold, Part: "/manifests/", Release: release})
	s := newStore(t, t.TempDir(), Options{})
	ref, _ := push(t, r, 10_000)
	const callers = 16
	errs := make(chan error, callers)
	for range callers {
		go func() {
			_, err := s.Ensure(context.Background(), ref, nil)
			errs <- err
		}()
	}
	g.Eventually(func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		if f := s.flights[digestOf(t, ref)]; f != nil {
			return f.waiters
		}
		return 0
	}).Should(Equal(callers))
	close(release)
	for range callers {
		g.Expect(<-errs).NotTo(HaveOccurred())
	}
	g.Expect(r.Count(http.MethodGet, "/manifests/")).To(Equal(1))
	g.Expect(r.Count(http.MethodGet, "/blobs/")).To(Equal(1))
}

func TestAPullEndsWithTheLastOfItsCallers(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	r.Inject(registry.Fault{Kind: registry.Hold, Part: "/manifests/", Times: 1})
	s := newStore(t, t.TempDir(), Options{})
	ref, _ := push(t, r, 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Ensure(ctx, ref, nil)
		ended <- err
	}()
	g.Eventually(func() int { return r.Count(http.MethodGet, "/manifests/") }).Should(Equal(1))
	cancel()
	g.Expect(<-ended).To(MatchError(context.Canceled))
	g.Expect(s.Progress(digestOf(t, ref)).State).To(Equal(Absent), "giving up is no failure of the image")
	_, err := s.Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
}

// TestAnothersCredentialsDoNotFailOurs: two callers share a pull that only one of them may make.
func TestAnothersCredentialsDoNotFailOurs(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	r.RequireCredentials("alice", "hunter2")
	s := newStore(t, t.TempDir(), Options{Pulls: 1})
	ref, _ := push(t, r, 1000)
	s.pulls <- struct{}{} // The turn is taken, so that both are waiting before anything is asked.
	stranger := make(chan error, 1)
	go func() {
		_, err := s.Ensure(context.Background(), ref, nil)
		stranger <- err
	}()
	g.Eventually(func() State { return s.Progress(digestOf(t, ref)).State }).Should(Equal(Pulling))
	ours := make(chan error, 1)
	go func() {
		_, err := s.Ensure(context.Background(), ref, &Credentials{Username: "alice", Password: "hunter2"})
		ours <- err
	}()
	<-s.pulls
	g.Expect(KindOf(<-stranger)).To(Equal(Unauthorized))
	g.Expect(<-ours).NotTo(HaveOccurred())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
