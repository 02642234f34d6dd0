// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

// Limits of what a stranger may send, and how long it may take.
const (
	maxHeaderBytes    = 16 << 10
	maxBodyBytes      = 64 << 10
	maxMessageBytes   = 1024
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 60 * time.Second
	// verbTimeout is for everything but files, the waits for the API server included.
	verbTimeout = 30 * time.Second
	// slowestFile is the rate in bytes per second below which a download is cut off.
	slowestFile     = 128 << 10
	shutdownTimeout = 5 * time.Second
	// writeAttempts is how often a lost race for a host's status is run again.
	writeAttempts = 5
	// pollAgain is when an agent should ask again for its certificate.
	pollAgain = 1 * time.Second
	// certificateLifetime is what agents' certificates are asked for, as when they renew them by themselves: a host that is
	// switched off soon after its install must still speak after a season, for its credential is used up.
	certificateLifetime = 90 * 24 * time.Hour
)

// Store has the images.
type Store interface {
	// Start pulls an image unless it is there or a failed pull is too recent, and returns at once.
	Start(ref string, creds *image.Credentials) image.Progress
	// Progress says how far an image is, without changing anything.
	Progress(digest string) image.Progress
	// Lookup gives an image that is complete and verified.
	Lookup(digest string) (image.Image, bool)
}

// Options of a Server. All are needed unless they say otherwise.
type Options struct {
	// Listen is the address of Start, for example ":8081".
	Listen string
	// BaseURL is where hosts reach the server.
	BaseURL string
	// APIServer is where agents reach the management cluster.
	APIServer orderv1.APIServer
	// Key of the site; the same as the Host controller's.
	Key   order.Key
	Store Store
	// Client reads hosts from a cache and writes; APIReader reads from the API server.
	Client    client.Client
	APIReader client.Reader
	Recorder  events.EventRecorder
	// Now tells the time for the rate of Events; the default is time.Now.
	Now func() time.Time
}

func (o Options) validate() error {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") || base.User != nil || base.RawQuery != "" {
		return fmt.Errorf("the base URL must be an http or https URL by which hosts reach this server, not %q", o.BaseURL)
	}
	switch {
	case len(o.Key) < order.KeySize:
		return errors.New("the order key is missing")
	case o.APIServer.URL == "":
		return errors.New("the URL by which agents reach the API server is missing")
	case o.Store == nil || o.Client == nil || o.APIReader == nil || o.Recorder == nil:
		return errors.New("store, client, API reader and recorder are needed")
	}
	return nil
}
