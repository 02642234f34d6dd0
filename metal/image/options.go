// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"time"
)

// Defaults of Options.
const (
	DefaultMaxBlobBytes  int64 = 32 << 30
	DefaultMaxImageBytes int64 = 64 << 30
	DefaultMaxEntries          = 10_000
	DefaultPulls               = 3
	DefaultPlatform            = "linux/amd64"
	DefaultStall               = time.Minute
	DefaultResumes             = 8
	DefaultResumeDelay         = 200 * time.Millisecond
	DefaultRetryMin            = 5 * time.Second
	DefaultRetryMax            = 5 * time.Minute
)

// Options of a Store. The zero value of each field means its default.
type Options struct {
	// MaxBlobBytes bounds one layer as it is transferred.
	MaxBlobBytes int64
	// MaxImageBytes bounds all layers of an image as they are transferred, and all its files as they are written.
	MaxImageBytes int64
	// MaxEntries bounds the entries of all layers of an image.
	MaxEntries int
	// Pulls is how many images are pulled at the same time; more wait.
	Pulls int
	// Platform is os/architecture[/variant] of the image wanted from an index.
	Platform string
	// Stall is how long a registry may send nothing before the connection is given up.
	Stall time.Duration
	// Resumes is how often one layer is taken up again where its connection broke.
	Resumes int
	// ResumeDelay is the wait before the first of these; it doubles each time.
	ResumeDelay time.Duration
	// RetryMin and RetryMax bound the back-off of Start after a failed pull; it doubles from one to the other.
	RetryMin, RetryMax time.Duration
	// Transport talks to registries; the default is a copy of net/http's.
	Transport http.RoundTripper
	// Insecure lists registries (host or host:port) that may be spoken to over plain HTTP, besides this machine's own
	// loopback. All others, and where they redirect to or fetch tokens from, must speak HTTPS.
	Insecure []string
	// Notify is told the digest whenever the State of its Progress changes: begun, complete, failed. It must not block.
	Notify func(digest string)
	// Now tells the time for the back-off.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.MaxBlobBytes = cmp.Or(o.MaxBlobBytes, DefaultMaxBlobBytes)
	o.MaxImageBytes = cmp.Or(o.MaxImageBytes, DefaultMaxImageBytes)
	o.MaxEntries = cmp.Or(o.MaxEntries, DefaultMaxEntries)
	o.Pulls = cmp.Or(o.Pulls, DefaultPulls)
	o.Platform = cmp.Or(o.Platform, DefaultPlatform)
	o.Stall = cmp.Or(o.Stall, DefaultStall)
	o.Resumes = cmp.Or(o.Resumes, DefaultResumes)
	o.ResumeDelay = cmp.Or(o.ResumeDelay, DefaultResumeDelay)
	o.RetryMin = cmp.Or(o.RetryMin, DefaultRetryMin)
	o.RetryMax = cmp.Or(o.RetryMax, DefaultRetryMax)
	if o.Transport == nil {
		o.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// plainHTTP says whether host (host or host:port) may be spoken to without TLS.
func (o *Options) plainHTTP(host string) bool {
	if slices.Contains(o.Insecure, host) {
		return true
	}
	bare := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		bare = h
	}
	if bare == "localhost" {
		return true
	}
	ip := net.ParseIP(bare)
	return ip != nil && ip.IsLoopback()
}
