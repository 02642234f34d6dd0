// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

const osDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// site plays the netboot server for one order.
type site struct {
	*httptest.Server
	plan  orderv1.Plan
	image []byte
	hold  chan struct{} // closed by the test: the disk image goes on

	mu       sync.Mutex
	failures []orderv1.Failure
}

func newSite(t *testing.T) *site {
	s := &site{image: DiskImage("v1", 64<<10), hold: make(chan struct{})}
	close(s.hold)
	sum := sha256.Sum256(s.image)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /o/boot", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "#!ipxe\nkernel vmlinuz %s=%s/o/plan quiet\nboot\n", orderv1.PlanParameter, s.URL)
	})
	mux.HandleFunc("POST /o/plan", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s.plan) })
	mux.HandleFunc("POST /o/failure", func(_ http.ResponseWriter, r *http.Request) {
		var failure orderv1.Failure
		_ = json.NewDecoder(r.Body).Decode(&failure)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failures = append(s.failures, failure)
	})
	mux.HandleFunc("GET /disk", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(s.image[:1024])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-s.hold:
			_, _ = w.Write(s.image[1024:])
		case <-r.Context().Done():
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	s.plan = orderv1.Plan{
		Version: orderv1.PlanVersion, Order: "op.1", Host: orderv1.Host{Namespace: "racks", Name: "r01"},
		Interfaces: []string{"52:54:00:00:00:01"}, RootDevice: orderv1.RootDevice{SerialNumber: "SYS"},
		Image: "sha256:netboot", OSImage: "registry.example/os@" + osDigest,
		Disk:  orderv1.Disk{URL: s.URL + "/disk", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(s.image))},
		Agent: orderv1.AgentConfig{Version: orderv1.AgentConfigVersion, Host: orderv1.Host{Namespace: "racks", Name: "r01"}},
	}
	return s
}

func (s *site) lastFailure() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) == 0 {
		return ""
	}
	return s.failures[len(s.failures)-1].Reason
}

func newTestBox(t *testing.T) *Box {
	box := NewBox(BoxOptions{
		Name: "r01", MACs: []string{"52:54:00:00:00:01"}, Dir: t.TempDir(),
		Disks: []DiskOptions{{Serial: "SYS", SizeGigabytes: 480}, {Serial: "DATA", SizeGigabytes: 4000}},
	})
	t.Cleanup(box.Close)
	return box
}

func (s *site) bootRequest() virtual.BootRequest {
	return virtual.BootRequest{Target: "UefiHttp", URL: s.URL + "/o/boot"}
}

func TestAnInstalledBoxRunsWhatItsDiskHolds(t *testing.T) {
	g := NewWithT(t)
	site, box := newSite(t), newTestBox(t)
	box.PowerOn(site.bootRequest())
	g.Eventually(box.Running).WithTimeout(20 * time.Second).Should(Equal(osDigest))
	g.Expect(box.Count("Installed")).To(Equal(1))
	config, err := os.ReadFile(filepath.Join(box.disks()[0].root(), orderv1.AgentConfigPath))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(config)).To(ContainSubstring(orderv1.AgentConfigVersion))

	box.ForceOff()
	g.Expect(box.Power()).To(Equal(virtual.PowerOff))
	box.PowerOn(virtual.BootRequest{})
	g.Eventually(func() int { return box.Count("Booted") }).WithTimeout(20 * time.Second).Should(Equal(2))
	g.Expect(box.Count("Installed")).To(Equal(1), "a boot from disk installs nothing")
}

func TestAnInstallThatMustNotHappenSaysWhyAndTouchesNothing(t *testing.T) {
	for _, test := range []struct {
		name   string
		spoil  func(*site, *Box)
		reason string
	}{
		{"another machine", func(s *site, _ *Box) { s.plan.Interfaces = []string{"52:54:00:00:00:99"} }, "WrongHost"},
		{"no such disk", func(s *site, _ *Box) { s.plan.RootDevice = orderv1.RootDevice{SerialNumber: "GONE"} }, "DiskNotFound"},
		{"two disks match", func(s *site, _ *Box) { s.plan.RootDevice = orderv1.RootDevice{MinSizeGigabytes: 100} }, "DiskNotFound"},
		{"no hints", func(s *site, _ *Box) { s.plan.RootDevice = orderv1.RootDevice{} }, "DiskNotFound"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			site, box := newSite(t), newTestBox(t)
			data := filepath.Join(box.disks()[1].dir, "precious")
			g.Expect(os.MkdirAll(filepath.Dir(data), 0o755)).To(Succeed())
			g.Expect(os.WriteFile(data, []byte("data"), 0o600)).To(Succeed())
			test.spoil(site, box)
			box.PowerOn(site.bootRequest())
			g.Eventually(site.lastFailure).WithTimeout(20 * time.Second).Should(Equal(test.reason))
			g.Expect(os.ReadFile(data)).To(Equal([]byte("data")))
			g.Expect(box.disks()[0].dir).NotTo(BeADirectory(), "nothing was written")
		})
	}
}

func TestBytesOfAnotherDigestNeverBoot(t *testing.T) {
	g := NewWithT(t)
	site, box := newSite(t), newTestBox(t)
	box.SetFaults(Faults{CorruptDisk: true})
	box.PowerOn(site.bootRequest())
	g.Eventually(site.lastFailure).WithTimeout(20 * time.Second).Should(Equal("DigestMismatch"))
	_, err := box.bootable()
	g.Expect(err).To(HaveOccurred())
}

func TestAPowerCutWhileInstallingLeavesNothingThatBoots(t *testing.T) {
	g := NewWithT(t)
	site, box := newSite(t), newTestBox(t)
	site.hold = make(chan struct{})
	box.PowerOn(site.bootRequest())
	image := filepath.Join(box.disks()[0].dir, "disk.img")
	g.Eventually(image).WithTimeout(20 * time.Second).Should(BeAnExistingFile())
	box.Close()
	_, err := box.bootable()
	g.Expect(err).To(HaveOccurred())
	g.Expect(box.Count("Installed")).To(BeZero())
	g.Expect(site.lastFailure()).To(BeEmpty(), "a box without power reports nothing")
}

func TestABadImageIsTriedOnceAndGoneBackFrom(t *testing.T) {
	g := NewWithT(t)
	box := newTestBox(t)
	disk := box.disks()[0]
	good, bad := &Image{Digest: "sha256:good"}, &Image{Digest: "sha256:bad"}
	g.Expect(os.MkdirAll(disk.root(), 0o755)).To(Succeed())
	g.Expect(disk.writeOS(osState{Booted: good, Staged: bad, Next: bad.Digest})).To(Succeed())
	box.SetFaults(Faults{BadImages: map[string]bool{bad.Digest: true}})
	image, err := box.bootloader(t.Context(), disk)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(image).To(Equal(good))
	g.Expect(box.bootloader(t.Context(), disk)).To(Equal(good))
	g.Expect(box.Count("BootFailed")).To(Equal(1))

	box.SetFaults(Faults{})
	g.Expect(disk.writeOS(osState{Booted: good, Staged: bad, Next: bad.Digest})).To(Succeed())
	g.Expect(box.bootloader(t.Context(), disk)).To(Equal(bad))
	state, err := disk.readOS()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(state.Rollback).To(Equal(good))
}

func TestErrorsHoldNoURL(t *testing.T) {
	g := NewWithT(t)
	box := newTestBox(t)
	err := box.post(t.Context(), "http://127.0.0.1:1/v1/orders/one-time-secret/plan", nil, nil)
	g.Expect(err).To(HaveOccurred())
	g.Expect(strings.Contains(err.Error(), "one-time-secret")).To(BeFalse(), err.Error())
}
