// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

const key = "default/h1"

// watched are Actors with somebody to tell, as a controller is.
type watched struct {
	*redfish.Actors
	t *testing.T

	mu   sync.Mutex
	told chan struct{} // closed and replaced at every notification
}

func watch(t *testing.T, options redfish.Options) *watched {
	t.Helper()
	w := &watched{t: t, told: make(chan struct{})}
	options.Notify = func(key string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Reading(key) // no lock may be held when we are told
		close(w.told)
		w.told = make(chan struct{})
	}
	w.Actors = redfish.NewActors(options)
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// until waits for notifications until the reading is as wanted.
func (w *watched) until(key string, what string, wanted func(redfish.Reading) bool) redfish.Reading {
	w.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		w.mu.Lock()
		told := w.told
		w.mu.Unlock()
		reading, _ := w.Reading(key)
		if wanted(reading) {
			return reading
		}
		select {
		case <-told:
		case <-deadline.C:
			w.t.Fatalf("%s: %s did not come: %+v", key, what, reading)
		}
	}
}

func (w *watched) ready(key string) redfish.Reading {
	w.t.Helper()
	return w.until(key, "first reading", func(r redfish.Reading) bool { return !r.At.IsZero() && r.Err == nil })
}

// do asks for a command and waits for its outcome.
func (w *watched) do(command redfish.Command) redfish.Reading {
	w.t.Helper()
	if !w.Ask(key, command) {
		w.t.Fatalf("%s was not taken", command)
	}
	return w.until(key, command.String(), func(r redfish.Reading) bool { return r.Last != nil && r.Last.ID == command.ID })
}

func quick() redfish.Options {
	return redfish.Options{CallTimeout: 5 * time.Second, PowerPoll: 5 * time.Millisecond, PowerWait: 10 * time.Second}
}

func TestActorsWholeWay(t *testing.T) {
	for _, noHTTPBoot := range []bool{false, true} {
		t.Run(fmt.Sprintf("without HTTP boot %v", noHTTPBoot), func(t *testing.T) {
			g := NewWithT(t)
			bmc, machine := startBMC(t, func(o *virtual.Options) {
				o.ResetDelay, o.NoHTTPBoot = 30*time.Millisecond, noHTTPBoot
			})
			actors := watch(t, quick())
			actors.Connect(key, endpointOf(bmc))
			reading := actors.ready(key)
			g.Expect(reading.Identity.SerialNumber).To(Equal("SN1"))
			g.Expect(reading.State.Power).To(Equal(redfish.Off))
			g.Expect(reading.Fingerprint).To(Equal(bmc.Fingerprint()))

			reading = actors.do(redfish.Command{ID: "op1/boot", Verb: redfish.NetworkBootOnce, URL: "http://10.0.0.1/x"})
			g.Expect(reading.Last.Err).NotTo(HaveOccurred())
			g.Expect(reading.State.Boot.Enabled).To(Equal("Once"))
			reading = actors.do(redfish.Command{ID: "op1/on", Verb: redfish.PowerOn})
			g.Expect(reading.Last.Err).NotTo(HaveOccurred())
			g.Expect(reading.State.Power).To(Equal(redfish.On))
			g.Expect(reading.Running).To(BeNil())
			want := virtual.BootRequest{Target: "UefiHttp", URL: "http://10.0.0.1/x"}
			if noHTTPBoot {
				want = virtual.BootRequest{Target: "Pxe"}
			}
			g.Expect(machine.Boots()).To(Equal([]virtual.BootRequest{want}))

			reading = actors.do(redfish.Command{ID: "op2/off", Verb: redfish.GracefulShutdown})
			g.Expect(reading.Last.Err).NotTo(HaveOccurred())
			g.Expect(reading.State.Power).To(Equal(redfish.Off))
			reading = actors.do(redfish.Command{ID: "op3/off", Verb: redfish.ForceOff})
			g.Expect(reading.Last.Err).NotTo(HaveOccurred(), "off already")
			g.Expect(bmc.Resets()).To(HaveLen(2))
			g.Expect(bmc.Journal()).To(HaveLen(2), "nothing was even asked for when it was off")

			g.Expect(bmc.MostAtOnce()).To(Equal(1))
			g.Expect(bmc.Sessions()).To(Equal(1), "one session for all of it")
			g.Expect(actors.Close(t.Context())).To(Succeed())
			g.Expect(bmc.Sessions()).To(BeZero())
		})
	}
}

func TestSameIDNeverResetsTwice(t *testing.T) {
	g := NewWithT(t)
	bmc, machine := startBMC(t)
	actors := watch(t, quick())
	actors.Connect(key, endpointOf(bmc))
	on := redfish.Command{ID: "op1/on", Verb: redfish.PowerOn}
	first := actors.do(on)
	g.Expect(first.Last.Err).NotTo(HaveOccurred())
	actors.do(redfish.Command{ID: "op2/off", Verb: redfish.ForceOff})
	g.Expect(bmc.Resets()).To(HaveLen(2))

	again := actors.do(on)
	g.Expect(again.Last).To(Equal(first.Last), "its outcome is returned")
	g.Expect(machine.Power()).To(Equal(virtual.PowerOff))

	actors.Forget(key)
	_, known := actors.Reading(key)
	g.Expect(known).To(BeFalse())
	g.Expect(actors.Ask(key, on)).To(BeFalse())
	actors.Connect(key, endpointOf(bmc))
	g.Expect(actors.do(on).Last).To(Equal(first.Last), "also after it was forgotten")
	actors.ready(key)
	g.Expect(bmc.Resets()).To(HaveLen(2))
	g.Expect(bmc.Sessions()).To(Equal(1), "the first session was given back")
}

func TestAcceptedButIgnored(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	bmc.Faults().IgnoreResets(true)
	bmc.Faults().IgnoreBoot(true)
	options := quick()
	options.PowerWait = 50 * time.Millisecond
	actors := watch(t, options)
	actors.Connect(key, endpointOf(bmc))

	reading := actors.do(redfish.Command{ID: "1", Verb: redfish.PowerOn})
	g.Expect(classOf(t, reading.Last.Err)).To(Equal(redfish.Ignored))
	g.Expect(reading.Last.Err).To(MatchError("resetting with On: the BMC accepted it, but the power state is not On after 50ms"))
	g.Expect(reading.State.Power).To(Equal(redfish.Off), "the reading is what was read")
	g.Expect(reading.Err).To(BeNil(), "the contact was good")
	reading = actors.do(redfish.Command{ID: "2", Verb: redfish.NetworkBootOnce})
	g.Expect(classOf(t, reading.Last.Err)).To(Equal(redfish.Ignored))
	g.Expect(bmc.Resets()).To(BeEmpty())
}

func TestDeafOperatingSystemIsIgnoredShutdown(t *testing.T) {
	g := NewWithT(t)
	machine := &virtual.Memory{Deaf: true}
	machine.PowerOn(virtual.BootRequest{})
	bmc, _ := startBMC(t, func(o *virtual.Options) { o.Machine = machine })
	options := quick()
	options.PowerWait = 50 * time.Millisecond
	actors := watch(t, options)
	actors.Connect(key, endpointOf(bmc))
	g.Expect(classOf(t, actors.do(redfish.Command{ID: "1", Verb: redfish.GracefulShutdown}).Last.Err)).To(Equal(redfish.Ignored))
	g.Expect(actors.do(redfish.Command{ID: "2", Verb: redfish.ForceOff}).Last.Err).NotTo(HaveOccurred())
}

func TestOneDeadBMCDelaysNoOther(t *testing.T) {
	g := NewWithT(t)
	dead, _ := startBMC(t, func(o *virtual.Options) { o.MaxSessions = 20 })
	dead.Faults().Hang(true)
	alive, _ := startBMC(t)
	actors := watch(t, redfish.Options{CallTimeout: time.Second, BackoffMin: time.Hour, BackoffMax: time.Hour})
	for i := range 20 {
		actors.Connect(fmt.Sprintf("default/dead%d", i), endpointOf(dead))
	}
	actors.Connect(key, endpointOf(alive))
	actors.ready(key)
	reading, _ := actors.Reading("default/dead0")
	g.Expect(reading.At).To(BeZero())
	reading = actors.until("default/dead0", "error", func(r redfish.Reading) bool { return r.Err != nil })
	g.Expect(reading.Err.Class).To(Equal(redfish.Unreachable))

	dead.Faults().Hang(false)
	g.Expect(actors.Ask("default/dead0", redfish.Command{Verb: redfish.Refresh})).To(BeTrue(), "tried at once, whatever the back-off")
	actors.ready("default/dead0")
}

func TestConnectTakesNewCredentials(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	actors := watch(t, quick())
	actors.Connect(key, endpointOf(bmc, func(e *redfish.Endpoint) { e.Password = "old" }))
	reading := actors.until(key, "refusal", func(r redfish.Reading) bool { return r.Err != nil })
	g.Expect(classOf(t, reading.Err)).To(Equal(redfish.Auth))
	actors.Connect(key, endpointOf(bmc))
	reading = actors.ready(key)

	// The first use comes back as a pin, and nothing happens.
	asked := bmc.Requests()
	actors.Connect(key, endpointOf(bmc, func(e *redfish.Endpoint) { e.Fingerprint = reading.Fingerprint }))
	actors.do(redfish.Command{ID: "1", Verb: redfish.ForceOff})
	g.Expect(bmc.Requests()-asked).To(Equal(1), "one read, no login")

	g.Expect(bmc.Faults().SwapCertificate()).To(Succeed())
	g.Expect(actors.Ask(key, redfish.Command{Verb: redfish.Refresh})).To(BeTrue())
	reading = actors.until(key, "certificate error", func(r redfish.Reading) bool { return r.Err != nil })
	g.Expect(reading.Err.Class).To(Equal(redfish.Certificate))
	g.Expect(reading.Fingerprint).To(Equal(bmc.Fingerprint()))
	g.Expect(reading.At).NotTo(BeZero(), "what was read before stays, with its time")
	actors.Connect(key, endpointOf(bmc, func(e *redfish.Endpoint) { e.Fingerprint = reading.Fingerprint }))
	actors.ready(key)

	other, _ := startBMC(t, func(o *virtual.Options) { o.Serial = "SN2" })
	actors.Connect(key, endpointOf(other))
	reading, _ = actors.Reading(key)
	g.Expect(reading.Identity.SerialNumber).NotTo(Equal("SN1"), "another server is not what the last one was")
	g.Expect(actors.ready(key).Identity.SerialNumber).To(Equal("SN2"))
	g.Expect(bmc.Sessions()).To(BeZero())
}

func TestUnusableEndpointSaysSo(t *testing.T) {
	g := NewWithT(t)
	actors := watch(t, quick())
	actors.Connect(key, redfish.Endpoint{Address: "http://bmc", Username: username, Password: password})
	reading := actors.until(key, "error", func(r redfish.Reading) bool { return r.Err != nil })
	g.Expect(classOf(t, reading.Err)).To(Equal(redfish.Permanent))
	reading = actors.do(redfish.Command{ID: "1", Verb: redfish.PowerOn})
	g.Expect(classOf(t, reading.Last.Err)).To(Equal(redfish.Permanent))
}

func TestCloseGivesUpOnAHangingBMC(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	actors := watch(t, redfish.Options{CallTimeout: 100 * time.Millisecond})
	actors.Connect(key, endpointOf(bmc))
	actors.ready(key)
	bmc.Faults().Hang(true)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	g.Expect(actors.Close(ctx)).To(Succeed())
	actors.Connect(key, endpointOf(bmc))
	_, known := actors.Reading(key)
	g.Expect(known).To(BeFalse(), "closed for good")
}

func TestCloseEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	actors := watch(t, redfish.Options{CallTimeout: 500 * time.Millisecond})
	actors.Connect(key, endpointOf(bmc))
	actors.ready(key)
	bmc.Faults().Hang(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(classOf(t, actors.Close(ctx))).To(Equal(redfish.Transient))
}

func TestCollectors(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(redfish.Collectors()...)
	bmc, _ := startBMC(t)
	client := clientOf(t, endpointOf(bmc))
	_, err := client.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.Close(t.Context())).To(Succeed())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
		g.Expect(family.GetHelp()).NotTo(BeEmpty())
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				g.Expect(label.GetName()).To(BeElementOf("method", "code"))
			}
		}
	}
	g.Expect(names).To(ConsistOf("repave_bmc_requests_total", "repave_bmc_request_duration_seconds",
		"repave_bmc_sessions_opened_total", "repave_bmc_sessions_closed_total"))
}
