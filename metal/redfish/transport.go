// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// maxAnswer is the largest body read from a BMC; a System is some 10 KiB, the largest registries are below 2 MiB.
const maxAnswer = 4 << 20

// wire carries single requests to one BMC: one connection, one request at a time, a deadline on each.
type wire struct {
	base    string
	timeout time.Duration
	client  *http.Client

	mu   sync.Mutex // handshakes run on the transport's goroutines
	pin  string
	seen string
}

// call is one request.
type call struct {
	op, method, path string
	header           http.Header
	body             []byte // nil for none
	once             bool   // sent at most once, at the price of a new connection
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func newWire(endpoint Endpoint, timeout time.Duration) (*wire, error) {
	base, err := endpoint.base()
	if err != nil {
		return nil, err
	}
	roots, err := endpoint.roots()
	if err != nil {
		return nil, err
	}
	w := &wire{base: base, timeout: timeout, pin: strings.ToLower(endpoint.Fingerprint)}
	pinned := endpoint.TLSMode == PinOnFirstUse || endpoint.TLSMode == ""
	w.client = &http.Client{
		CheckRedirect: sameHost,
		Transport: &http.Transport{
			// No proxy from the environment: it would be handed the credentials of a BMC.
			DialContext:         (&net.Dialer{Timeout: timeout}).DialContext,
			TLSHandshakeTimeout: timeout,
			MaxConnsPerHost:     1,
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     5 * time.Second, // BMCs close idle connections early and without a word
			DisableCompression:  true,            // compressing BMCs weaken their ETags
			TLSClientConfig: &tls.Config{
				MinVersion:         tls.VersionTLS12,
				RootCAs:            roots,
				InsecureSkipVerify: roots == nil, // then verified by the pin in VerifyConnection, unless Insecure was asked for
				VerifyConnection:   func(state tls.ConnectionState) error { return w.verify(state, pinned) },
			},
		},
	}
	return w, nil
}

// verify notes the certificate and holds it against the pin before anything is sent.
func (w *wire) verify(state tls.ConnectionState, pinned bool) error {
	if len(state.PeerCertificates) == 0 {
		return &Error{Class: Certificate, Message: "the BMC shows no certificate"}
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = hex.EncodeToString(sum[:])
	if !pinned {
		return nil
	}
	if w.pin == "" {
		w.pin = w.seen
	}
	if w.pin != w.seen {
		return &Error{Class: Certificate, Message: "the BMC shows the certificate sha256:" + w.seen + ", pinned is sha256:" + w.pin}
	}
	return nil
}

// fingerprint is what the last handshake showed.
func (w *wire) fingerprint() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// sameHost follows a redirected read on the same BMC, as some add or drop a trailing slash; a token never goes elsewhere
// and a write is never sent twice.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet || r.URL.Host != first.URL.Host || r.URL.Scheme != first.URL.Scheme || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// send carries one request and reads the whole answer.
func (w *wire) send(ctx context.Context, what call) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	started := time.Now()
	got, err := w.exchange(ctx, what)
	observe(what.method, got.status, time.Since(started))
	return got, err
}

func (w *wire) exchange(ctx context.Context, what call) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, what.method, w.base+what.path, bytes.NewReader(what.body))
	if err != nil {
		return reply{}, &Error{Class: Permanent, Op: what.op, Message: "the BMC gave a link that is not a path"}
	}
	if what.header != nil {
		request.Header = what.header
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("OData-Version", "4.0")
	request.Header.Set("User-Agent", "repave")
	if what.body != nil {
		request.Header.Set("Content-Type", "application/json")
	} else {
		request.Body, request.GetBody = nil, nil
	}
	if what.once {
		// The standard library repeats a request on its own only when a kept-alive connection turns out dead.
		w.client.CloseIdleConnections()
		request.Close = true
	}
	response, err := w.client.Do(request)
	if err != nil {
		return reply{}, contactError(what.op, err, w.timeout)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	got := reply{status: response.StatusCode, header: response.Header, body: content}
	switch {
	case err != nil:
		return reply{}, contactError(what.op, err, w.timeout)
	case len(content) > maxAnswer:
		return got, &Error{Class: Permanent, Op: what.op, Status: got.status, Message: "the answer is larger than 4 MiB"}
	case response.Header.Get("Content-Encoding") != "" && response.Header.Get("Content-Encoding") != "identity":
		return got, &Error{Class: Permanent, Op: what.op, Status: got.status, Message: "the answer is compressed, which was not asked for"}
	case got.status >= 300 && got.status < 400:
		return got, &Error{Class: Permanent, Op: what.op, Status: got.status, Message: "the BMC sends us elsewhere, which is not followed"}
	}
	return got, nil
}

// pathOf reduces a link given by a BMC to its path. Some give absolute URLs with a name only they know; whatever host it
// names, we stay with the BMC we called.
func pathOf(linked string) string {
	parsed, err := url.Parse(linked)
	if err != nil || !strings.HasPrefix(parsed.Path, "/") {
		return ""
	}
	path := (&url.URL{Path: parsed.Path, RawPath: parsed.RawPath, RawQuery: parsed.RawQuery}).String()
	if !strings.HasPrefix(path, "/") { // "//x/y" prints as ".//x/y" or "//x/y": not ours
		return ""
	}
	return path
}
