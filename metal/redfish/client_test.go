// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

const (
	username = "repave"
	password = "s3cret-Passw0rd"
)

// startBMC runs a virtual BMC for the test and returns it with the machine behind it.
func startBMC(t *testing.T, change ...func(*virtual.Options)) (*virtual.Server, *virtual.Memory) {
	t.Helper()
	machine := &virtual.Memory{}
	options := virtual.Options{Username: username, Password: password, Machine: machine, Serial: "SN1"}
	for _, f := range change {
		f(&options)
	}
	bmc, err := virtual.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bmc.Close)
	return bmc, machine
}

func endpointOf(bmc *virtual.Server, change ...func(*redfish.Endpoint)) redfish.Endpoint {
	endpoint := redfish.Endpoint{Address: bmc.URL(), Username: username, Password: password, TLSMode: redfish.PinOnFirstUse}
	for _, f := range change {
		f(&endpoint)
	}
	return endpoint
}

func clientOf(t *testing.T, endpoint redfish.Endpoint) *redfish.Client {
	t.Helper()
	client, err := redfish.NewClient(endpoint, redfish.Options{CallTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return client
}

// classOf fails the test when an error is not ours or shows the password.
func classOf(t *testing.T, err error) redfish.Class {
	t.Helper()
	if err == nil {
		return ""
	}
	var known *redfish.Error
	if !errors.As(err, &known) {
		t.Fatalf("%T is no *redfish.Error: %v", err, err)
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", known, *known)} {
		if strings.Contains(text, password) {
			t.Fatalf("error shows the password: %s", text)
		}
	}
	return known.Class
}

func TestClientIdentifiesReadsAndGivesBackItsSession(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	client := clientOf(t, endpointOf(bmc))

	identity, err := client.Identify(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cmp.Diff(redfish.Identity{
		Manufacturer: "Repave", Model: "Virtual Server", SerialNumber: "SN1", UUID: "00000000-0000-4000-8000-000000000001",
		FirmwareVersion: "1.0.0-virtual", SystemID: "1", HTTPBootURI: true,
		ResetTypes:  []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"},
		BootTargets: []string{"None", "Pxe", "Hdd", "Cd", "BiosSetup", "UefiHttp"},
	}, identity)).To(BeEmpty())

	state, err := client.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(state).To(Equal(redfish.State{Power: redfish.Off, Boot: redfish.Boot{Target: "None", Enabled: "Disabled", Mode: "UEFI"}}))
	g.Expect(client.Fingerprint()).To(Equal(bmc.Fingerprint()))
	g.Expect(bmc.Sessions()).To(Equal(1))
	g.Expect(bmc.MostAtOnce()).To(Equal(1))

	g.Expect(client.Close(t.Context())).To(Succeed())
	g.Expect(bmc.Sessions()).To(BeZero())
}

func TestClientResetsOnceAndSaysWhyNot(t *testing.T) {
	g := NewWithT(t)
	bmc, machine := startBMC(t)
	client := clientOf(t, endpointOf(bmc))

	g.Expect(classOf(t, client.Reset(t.Context(), "ForceOff"))).To(Equal(redfish.Conflict))
	g.Expect(client.Reset(t.Context(), "On")).To(Succeed())
	g.Expect(machine.Power()).To(Equal(virtual.PowerOn))
	g.Expect(classOf(t, client.Reset(t.Context(), "On"))).To(Equal(redfish.Conflict))
	g.Expect(classOf(t, client.Reset(t.Context(), "Nmi"))).To(Equal(redfish.Unsupported), "the BMC says so")
	_, err := client.Identify(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	asked := bmc.Requests()
	g.Expect(classOf(t, client.Reset(t.Context(), "Nmi"))).To(Equal(redfish.Unsupported), "known by now")
	g.Expect(bmc.Requests()).To(Equal(asked))
	g.Expect(bmc.Resets()).To(HaveLen(1))
	g.Expect(bmc.Journal()).To(HaveLen(3))
}

func TestSetBootOnce(t *testing.T) {
	for _, tc := range []struct {
		name       string
		noHTTPBoot bool
		ignore     bool
		want       redfish.Boot
		class      redfish.Class
		boot       virtual.BootRequest
	}{
		{name: "PXE", want: redfish.Boot{Target: redfish.BootPXE, Mode: redfish.BootUEFI}, boot: virtual.BootRequest{Target: "Pxe"}},
		{
			name: "HTTP with a URL", want: redfish.Boot{Target: redfish.BootHTTP, URI: "http://10.0.0.1/boot/x"},
			boot: virtual.BootRequest{Target: "UefiHttp", URL: "http://10.0.0.1/boot/x"},
		},
		{name: "HTTP where there is none", noHTTPBoot: true, want: redfish.Boot{Target: redfish.BootHTTP}, class: redfish.Unsupported},
		{name: "accepted and ignored", ignore: true, want: redfish.Boot{Target: redfish.BootPXE}, class: redfish.Ignored},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			bmc, machine := startBMC(t, func(o *virtual.Options) { o.NoHTTPBoot = tc.noHTTPBoot })
			bmc.Faults().IgnoreBoot(tc.ignore)
			client := clientOf(t, endpointOf(bmc))

			g.Expect(classOf(t, client.SetBootOnce(t.Context(), tc.want))).To(Equal(tc.class))
			g.Expect(client.Reset(t.Context(), "On")).To(Succeed())
			g.Expect(machine.Boots()).To(Equal([]virtual.BootRequest{tc.boot}))
			state, err := client.Read(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(state.Boot.Enabled).To(Equal("Disabled"), "Once is used up")
		})
	}
}

func TestSetBootOnceSendsNothingWhenItIsSet(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	client := clientOf(t, endpointOf(bmc))
	boot := redfish.Boot{Target: redfish.BootPXE, Mode: redfish.BootUEFI}
	g.Expect(client.SetBootOnce(t.Context(), boot)).To(Succeed())
	asked := bmc.Requests()
	g.Expect(client.SetBootOnce(t.Context(), boot)).To(Succeed())
	g.Expect(bmc.Requests()-asked).To(Equal(1), "one read")
}
