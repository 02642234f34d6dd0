// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

func TestNewClientRefusesAddresses(t *testing.T) {
	for _, tc := range []struct {
		name     string
		endpoint redfish.Endpoint
		says     string
	}{
		{"http", redfish.Endpoint{Address: "http://bmc"}, "http sends the password"},
		{"no scheme", redfish.Endpoint{Address: "10.0.0.1"}, "names no host"},
		{"other scheme", redfish.Endpoint{Address: "ipmi://10.0.0.1"}, "only https"},
		{"account inside", redfish.Endpoint{Address: "https://root:" + password + "@bmc"}, "holds an account"},
		{"not a URL, account inside", redfish.Endpoint{Address: "https://root:" + password + "@bmc:x"}, "not a URL"},
		{"path", redfish.Endpoint{Address: "https://bmc/redfish/v1/Systems/1"}, "has a path"},
		{"CA mode without CA", redfish.Endpoint{Address: "https://bmc", TLSMode: redfish.CA}, "no PEM certificate"},
		{"unknown mode", redfish.Endpoint{Address: "https://bmc", TLSMode: "Never"}, "none of"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			tc.endpoint.Username, tc.endpoint.Password = username, password
			_, err := redfish.NewClient(tc.endpoint, redfish.Options{})
			g.Expect(classOf(t, err)).To(Equal(redfish.Permanent))
			g.Expect(err.Error()).To(ContainSubstring(tc.says))
		})
	}
}

func TestEndpointNeverPrintsItsPassword(t *testing.T) {
	endpoint := redfish.Endpoint{Address: "https://bmc", Username: username, Password: password}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("connecting", "endpoint", endpoint)
	text, err := endpoint.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{logged.String(), string(text), fmt.Sprintf("%v %+v %#v %s", endpoint, endpoint, endpoint, &endpoint)} {
		if strings.Contains(shown, password) || !strings.Contains(shown, "https://bmc as repave") {
			t.Errorf("shown as %s", shown)
		}
	}
}

func TestTrust(t *testing.T) {
	bmc, _ := startBMC(t)
	other, _ := startBMC(t)
	for _, tc := range []struct {
		name  string
		trust func(*redfish.Endpoint)
		class redfish.Class
	}{
		{"first use", func(*redfish.Endpoint) {}, ""},
		{"right pin", func(e *redfish.Endpoint) { e.Fingerprint = strings.ToUpper(bmc.Fingerprint()) }, ""},
		{"wrong pin", func(e *redfish.Endpoint) { e.Fingerprint = other.Fingerprint() }, redfish.Certificate},
		{"right CA", func(e *redfish.Endpoint) { e.TLSMode, e.CA = redfish.CA, bmc.CertificatePEM() }, ""},
		{"wrong CA", func(e *redfish.Endpoint) { e.TLSMode, e.CA = redfish.CA, other.CertificatePEM() }, redfish.Certificate},
		{"insecure", func(e *redfish.Endpoint) { e.TLSMode, e.Fingerprint = redfish.Insecure, other.Fingerprint() }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			asked := bmc.Requests()
			client := clientOf(t, endpointOf(bmc, tc.trust))
			_, err := client.Read(t.Context())
			g.Expect(classOf(t, err)).To(Equal(tc.class))
			if tc.class != "" {
				g.Expect(bmc.Requests()).To(Equal(asked), "nothing is sent to whom we do not trust")
			}
		})
	}
}

func TestCertificateChangeIsNoticed(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	client := clientOf(t, endpointOf(bmc))
	_, err := client.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	first := bmc.Fingerprint()

	g.Expect(bmc.Faults().SwapCertificate()).To(Succeed())
	_, err = client.Read(t.Context())
	g.Expect(classOf(t, err)).To(Equal(redfish.Certificate))
	g.Expect(err.Error()).To(And(ContainSubstring(first), ContainSubstring(bmc.Fingerprint())))
	g.Expect(client.Fingerprint()).To(Equal(bmc.Fingerprint()), "a person can compare and accept it")

	again := clientOf(t, endpointOf(bmc, func(e *redfish.Endpoint) { e.Fingerprint = bmc.Fingerprint() }))
	_, err = again.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
}

func TestPlainHTTPWhenInsecure(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t, func(o *virtual.Options) { o.Plain = true })
	client := clientOf(t, endpointOf(bmc, func(e *redfish.Endpoint) { e.TLSMode = redfish.Insecure }))
	_, err := client.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.Fingerprint()).To(BeEmpty())
}

func TestFailuresHaveTheirClass(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault func(*virtual.Server)
		wrong func(*redfish.Endpoint)
		class redfish.Class
		says  string
	}{
		{name: "wrong password", wrong: func(e *redfish.Endpoint) { e.Password = password + "x" }, class: redfish.Auth,
			says: "logging in: answered 401 Unauthorized (Base.ResourceAtUriUnauthorized)"},
		{name: "starting", fault: func(s *virtual.Server) { s.Faults().Refuse(true) }, class: redfish.Transient,
			says: "reading the Redfish root: answered 503 Service Unavailable (Base.ServiceTemporarilyUnavailable)"},
		{name: "hang", fault: func(s *virtual.Server) { s.Faults().Hang(true) }, class: redfish.Unreachable,
			says: "reading the Redfish root: no answer within 150ms"},
		{name: "gone", fault: (*virtual.Server).Close, class: redfish.Unreachable,
			says: "reading the Redfish root: connection refused"},
		{name: "no such system", wrong: func(e *redfish.Endpoint) { e.SystemID = "blade7" }, class: redfish.Permanent,
			says: `finding the system: the BMC serves no system "blade7"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			bmc, _ := startBMC(t)
			endpoint := endpointOf(bmc)
			if tc.wrong != nil {
				tc.wrong(&endpoint)
			}
			if tc.fault != nil {
				tc.fault(bmc)
			}
			client, err := redfish.NewClient(endpoint, redfish.Options{CallTimeout: 150 * time.Millisecond})
			g.Expect(err).NotTo(HaveOccurred())
			for range 2 { // the same each time
				_, err = client.Read(t.Context())
				g.Expect(classOf(t, err)).To(Equal(tc.class))
				g.Expect(err).To(MatchError(tc.says))
			}
		})
	}
}

func TestSessionsComeBack(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t)
	client := clientOf(t, endpointOf(bmc))
	_, err := client.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	bmc.Faults().DropSessions()
	g.Expect(client.Reset(t.Context(), "On")).To(Succeed(), "one new login, also for a reset")
	g.Expect(bmc.Resets()).To(HaveLen(1))
	g.Expect(bmc.Sessions()).To(Equal(1))

	bmc.Faults().Deny(true)
	asked := bmc.Requests()
	_, err = client.Read(t.Context())
	g.Expect(classOf(t, err)).To(Equal(redfish.Auth))
	g.Expect(bmc.Requests()-asked).To(Equal(2), "the read and one login, no more: accounts get locked")

	bmc.Faults().Deny(false)
	_, err = client.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
}

// Managers that were killed leave sessions behind, which the BMC keeps for a while.
func TestABMCWithoutAFreeSessionIsUsedWithoutOne(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t, func(o *virtual.Options) { o.MaxSessions = 1 })
	first, second := clientOf(t, endpointOf(bmc)), clientOf(t, endpointOf(bmc))
	_, err := first.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.Reset(t.Context(), "On")).To(Succeed())
	g.Expect(bmc.Resets()).To(HaveLen(1))
	g.Expect(first.Close(t.Context())).To(Succeed())
	g.Expect(bmc.Sessions()).To(BeZero())
	_, err = second.Read(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bmc.Sessions()).To(Equal(1), "one that came free is taken")
}

func TestBasicAuthenticationWithoutSessionService(t *testing.T) {
	g := NewWithT(t)
	bmc, _ := startBMC(t, func(o *virtual.Options) { o.BasicOnly = true })
	client := clientOf(t, endpointOf(bmc))
	g.Expect(client.Reset(t.Context(), "On")).To(Succeed())
	wrong := clientOf(t, endpointOf(bmc, func(e *redfish.Endpoint) { e.Password = "no" }))
	_, err := wrong.Read(t.Context())
	g.Expect(classOf(t, err)).To(Equal(redfish.Auth))
}

// TestLyingAnswers serves what no BMC should.
func TestLyingAnswers(t *testing.T) {
	elsewhere := 0
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer trap.Close()
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		says   string
	}{
		{"another host", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, trap.URL, http.StatusFound) }, "sends us elsewhere"},
		{"redirects without end", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "sends us elsewhere"},
		{"endless", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5<<20)) }, "larger than 4 MiB"},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, "compressed"},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "not a JSON object"},
		{"another API", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, "not a Redfish root"},
		{"system elsewhere", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/redfish/v1/" {
				_, _ = w.Write([]byte(`{"Systems":{"@odata.id":"` + trap.URL + `/redfish/v1/Systems"}}`))
				return
			}
			_, _ = w.Write([]byte(`{"Members":[]}`)) // asked here, not there
		}, "serves 0 systems"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			liar := httptest.NewServer(tc.answer)
			defer liar.Close()
			client := clientOf(t, redfish.Endpoint{Address: liar.URL, Username: username, Password: password, TLSMode: redfish.Insecure})
			_, err := client.Read(t.Context())
			g.Expect(classOf(t, err)).To(Equal(redfish.Permanent))
			g.Expect(err.Error()).To(ContainSubstring(tc.says))
			g.Expect(elsewhere).To(BeZero())
		})
	}
}

// TestLostAnswerOfAResetIsNotSentAgain breaks the connection off after a reset arrived, also on a kept-alive one.
func TestLostAnswerOfAResetIsNotSentAgain(t *testing.T) {
	g := NewWithT(t)
	var resets atomic.Int32
	bmc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			resets.Add(1)
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/redfish/v1/":
			_, _ = w.Write([]byte(`{"Systems":{"@odata.id":"/s"}}`))
		case r.URL.Path == "/s":
			_, _ = w.Write([]byte(`{"Members":[{"@odata.id":"/s/1"}]}`))
		default:
			_, _ = w.Write([]byte(`{"PowerState":"Off","Actions":{"#ComputerSystem.Reset":{"target":"/s/1/reset"}}}`))
		}
	}))
	defer bmc.Close()
	client := clientOf(t, redfish.Endpoint{Address: bmc.URL, Username: username, Password: password, TLSMode: redfish.Insecure})
	for sent := range 5 {
		_, err := client.Read(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		err = client.Reset(t.Context(), "On")
		g.Expect(classOf(t, err)).To(Equal(redfish.Unreachable))
		g.Expect(err).To(MatchError("resetting with On: the connection broke off"))
		g.Expect(resets.Load()).To(BeEquivalentTo(sent + 1))
	}
}
