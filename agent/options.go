// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/repave-io/cluster-api-provider-repave/agent/facts"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
)

// Driver is how the agent changes its host; step.Driver has the contract.
type Driver = step.Driver

// Status is the images of a host.
type Status = step.Status

// Image is an image of a host.
type Image = step.Image

// What a driver's errors wrap so that the right reason is told.
var (
	ErrImageNotFound  = step.ErrImageNotFound
	ErrUnauthorized   = step.ErrUnauthorized
	ErrDigestMismatch = step.ErrDigestMismatch
	ErrUnsupported    = step.ErrUnsupported
)

// Options of one agent. The zero value is an agent on this host whose images change by netboot only.
type Options struct {
	// Root directory of the host. Default: /
	Root string
	// Driver changes the host. Default: the driver "none" (package fixed).
	Driver Driver
	// Version that is reported.
	Version string
	// BootIDPath below Root. Default: facts.BootIDPath. It is read once: a reboot is another Run.
	BootIDPath string
	// Addresses of the host. Default: facts.Addresses
	Addresses func() ([]clusterv1.MachineAddress, error)
	// LookEvery is how often facts and images are looked at again without being told. Default: 30 s
	LookEvery time.Duration
	// RebootDeadline is how long a reboot may take to end the agent. Default: step.DefaultRebootDeadline
	RebootDeadline time.Duration
	// HTTPClient enrols. Default: one that trusts the system's authorities and that of the API server.
	HTTPClient *http.Client
	// Clock for all waits. Default: the real one.
	Clock clock.Clock
	// Log receives what happens. Default: nothing is logged.
	Log *slog.Logger
}

func (o Options) complete() Options {
	if o.Root == "" {
		o.Root = "/"
	}
	if o.Addresses == nil {
		o.Addresses = facts.Addresses
	}
	if o.LookEvery == 0 {
		o.LookEvery = 30 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// enrolmentClient is the default for asking for the first certificate.
func enrolmentClient(ca []byte) *http.Client {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a host without authorities of its own
	}
	roots.AppendCertsFromPEM(ca)
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			Proxy:           http.ProxyFromEnvironment,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		},
	}
}
