// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/test/registry"
)

// told collects what Notify says.
func told() (chan string, func(string)) {
	digests := make(chan string, 100)
	return digests, func(digest string) { digests <- digest }
}

func TestStartTellsWhenItIsComplete(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	release := make(chan struct{})
	r.Inject(registry.Fault{Kind: registry.Hold, Part: "/blobs/", Release: release})
	digests, notify := told()
	s := newStore(t, t.TempDir(), Options{Notify: notify})
	ref, _ := push(t, r, 100_000)
	digest := digestOf(t, ref)
	g.Expect(s.Progress(digest)).To(Equal(Progress{Digest: digest, State: Absent}))

	g.Expect(s.Start(ref, nil).State).To(Equal(Pulling))
	g.Expect(<-digests).To(Equal(digest))
	g.Eventually(func() int64 { return s.Progress(digest).Total }).Should(BeNumerically(">", 100_000))
	g.Expect(s.Progress(digest).Done).To(BeZero())
	g.Expect(s.Start(ref, nil).State).To(Equal(Pulling), "asking again changes nothing")
	close(release)
	g.Expect(<-digests).To(Equal(digest))
	g.Expect(s.Progress(digest)).To(Equal(Progress{Digest: digest, State: Complete}))
	g.Expect(s.Start(ref, nil)).To(Equal(Progress{Digest: digest, State: Complete}))
	g.Expect(digests).To(BeEmpty(), "nothing changed since")
	g.Expect(r.Count(http.MethodGet, "/manifests/")).To(Equal(1))
}

func TestStartTriesAgainAfterTheBackOff(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	r.Inject(registry.Fault{Kind: registry.NotFound, Part: "/manifests/"})
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var passed atomic.Int64
	now := func() time.Time { return begin.Add(time.Duration(passed.Load())) }
	digests, notify := told()
	s := newStore(t, t.TempDir(), Options{Notify: notify, Now: now, RetryMin: time.Second, RetryMax: 3 * time.Second})
	ref, _ := push(t, r, 1000)
	digest := digestOf(t, ref)
	asked := func() int { return r.Count(http.MethodGet, "/manifests/") }

	for i, wait := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		g.Expect(s.Start(ref, nil).State).To(Equal(Pulling))
		<-digests
		<-digests
		failed := s.Progress(digest)
		g.Expect(failed.State).To(Equal(Failed))
		g.Expect(failed.Err.Kind).To(Equal(NotFound))
		g.Expect(failed.RetryAt).To(Equal(now().Add(wait)))
		passed.Add(int64(wait) - 1)
		g.Expect(s.Start(ref, nil)).To(Equal(failed), "too early")
		g.Expect(asked()).To(Equal(i + 1))
		passed.Add(1)
	}

	// Other credentials may help at once.
	g.Expect(s.Start(ref, nil).State).To(Equal(Pulling))
	<-digests
	<-digests
	r.ClearFaults()
	g.Expect(s.Start(ref, &Credentials{Username: "a", Password: "b"}).State).To(Equal(Pulling))
	<-digests
	<-digests
	g.Expect(s.Progress(digest).State).To(Equal(Complete))
}

func TestStartRefusesAnUnpinnedReference(t *testing.T) {
	g := NewWithT(t)
	got := newStore(t, t.TempDir(), Options{}).Start("registry.example/os:latest", nil)
	g.Expect(got.State).To(Equal(Failed))
	g.Expect(got.Err.Kind).To(Equal(InvalidReference))
	g.Expect(got.RetryAt).To(BeZero())
}

func TestCloseEndsPulls(t *testing.T) {
	g := NewWithT(t)
	r, dir := newRegistry(t), t.TempDir()
	r.Inject(registry.Fault{Kind: registry.Hold, Part: "/blobs/"})
	s, err := NewStore(dir, Options{})
	g.Expect(err).NotTo(HaveOccurred())
	ref, _ := push(t, r, 1000)
	g.Expect(s.Start(ref, nil).State).To(Equal(Pulling))
	g.Eventually(func() int { return r.Count(http.MethodGet, "/blobs/") }).Should(Equal(1))
	g.Expect(s.Close()).To(Succeed())
	expectClean(t, dir, 0)
	g.Expect(s.Start(ref, nil).Err).To(MatchError(ContainSubstring("closed")))
	_, err = s.Ensure(t.Context(), ref, nil)
	g.Expect(KindOf(err)).To(Equal(Storage))
}
