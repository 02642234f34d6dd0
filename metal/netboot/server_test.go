// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

func TestOptionsAreChecked(t *testing.T) {
	whole := Options{
		BaseURL: "http://10.0.0.2:8081", APIServer: orderv1.APIServer{URL: "https://api"}, Key: siteKey,
		Store: store, Client: api, APIReader: api, Recorder: events.NewFakeRecorder(1),
	}
	_, err := New(whole)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, change := range map[string]func(*Options){
		"no base URL":             func(o *Options) { o.BaseURL = "" },
		"no host in the base URL": func(o *Options) { o.BaseURL = "http:///x" },
		"another scheme":          func(o *Options) { o.BaseURL = "tftp://10.0.0.2" },
		"a query":                 func(o *Options) { o.BaseURL = "http://10.0.0.2/?a=b" },
		"no key":                  func(o *Options) { o.Key = nil },
		"a short key":             func(o *Options) { o.Key = siteKey[1:] },
		"no API server":           func(o *Options) { o.APIServer.URL = "" },
		"no store":                func(o *Options) { o.Store = nil },
		"no recorder":             func(o *Options) { o.Recorder = nil },
	} {
		t.Run(name, func(t *testing.T) {
			options := whole
			change(&options)
			_, err := New(options)
			NewWithT(t).Expect(err).To(MatchError(HavePrefix("configuring netboot server: ")))
		})
	}
}

func TestRefusalsAreToldSparingly(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1e9, 0)
	r := newRefusals(func() time.Time { return now })
	g.Expect(r.tell("a")).To(BeTrue())
	g.Expect(r.tell("a")).To(BeFalse(), "again at once")
	g.Expect(r.tell("b")).To(BeTrue(), "another host")
	now = now.Add(tellHostEvery)
	g.Expect(r.tell("a")).To(BeTrue(), "a minute later")
	told := 0
	for i := range 1000 {
		if r.tell(types.UID(fmt.Sprint("host-", i))) {
			told++
		}
	}
	g.Expect(told).To(BeNumerically("<=", tellBurst), "all hosts at once")
}

func TestATakenAddressIsAnError(t *testing.T) {
	g := NewWithT(t)
	taken := startSite(t, nil)
	s, err := New(Options{
		Listen: strings.TrimPrefix(taken.BaseURL, "http://"), BaseURL: taken.BaseURL, APIServer: orderv1.APIServer{URL: "https://api"}, Key: siteKey,
		Store: store, Client: api, APIReader: api, Recorder: events.NewFakeRecorder(1),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Start(t.Context())).To(MatchError(HavePrefix("listening for netboot requests: ")))
	g.Expect(s.NeedLeaderElection()).To(BeFalse())
}

func TestMetricsAreDescribed(t *testing.T) {
	g := NewWithT(t)
	for _, collector := range Collectors() {
		description := make(chan *prometheus.Desc, 1)
		collector.Describe(description)
		g.Expect((<-description).String()).To(MatchRegexp(`fqName: "repave_netboot_[a-z_]+_total", help: "[A-Z][^"]+\."`))
	}
}
