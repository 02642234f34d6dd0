// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
)

// readHeaderTimeout bounds how long a client may take to send its request line and headers.
const readHeaderTimeout = 30 * time.Second

// Request is one HTTP request the registry was sent, in the order of arrival.
type Request struct {
	Method string
	// Path is the URL path, for example /v2/os/blobs/sha256:….
	Path string
	// Range is the Range header; empty when the whole body was asked for.
	Range string
}

// Registry serves OCI images from memory on 127.0.0.1. All methods may be called concurrently.
type Registry struct {
	host   string
	server *http.Server
	inner  http.Handler
	done   chan error

	mu       sync.Mutex
	username string
	password string
	faults   []*Fault
	requests []Request
}

// Start serves an empty registry on a free loopback port, over plain HTTP, without asking for credentials.
// The caller closes it.
func Start() (*Registry, error) {
	return StartAt("127.0.0.1:0")
}

// StartAt is Start on a chosen address (host:port; port 0 picks a free one).
func StartAt(address string) (*Registry, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for the registry: %w", err)
	}
	quiet := log.New(io.Discard, "", 0)
	r := &Registry{
		host:  listener.Addr().String(),
		inner: ggcr.New(ggcr.Logger(quiet)),
		done:  make(chan error, 1),
	}
	// A client tries TLS first and dropped connections are ordered faults: neither is worth a line of log.
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: readHeaderTimeout, ErrorLog: quiet}
	go func() {
		defer close(r.done)
		r.done <- r.server.Serve(listener)
	}()
	return r, nil
}

// Host is host:port, the first part of every reference.
func (r *Registry) Host() string { return r.host }

// Close stops serving, cutting what is in flight, and returns when the port is free. It may be called again.
func (r *Registry) Close() error {
	err := r.server.Close()
	if serveErr, first := <-r.done; first && !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// RequireCredentials makes every later request without this basic authentication a 401. Empty values ask for none.
func (r *Registry) RequireCredentials(username, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.username, r.password = username, password
}

// Requests returns every request so far, in the order of arrival. Pushes by the builders of this package do not
// count: they do not come over the network.
func (r *Registry) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Request(nil), r.requests...)
}

// Count says how many requests of this method had part in their path: a digest, "/manifests/", "/blobs/".
func (r *Registry) Count(method, part string) int {
	n := 0
	for _, request := range r.Requests() {
		if request.Method == method && strings.Contains(request.Path, part) {
			n++
		}
	}
	return n
}

// serve is what a client meets: the count, then the faults, then the lock on the door, then the real registry.
func (r *Registry) serve(w http.ResponseWriter, req *http.Request) {
	fault, allowed := r.admit(req)
	if fault != nil && !fault.onBody() {
		fault.refuse(w)
		return
	}
	if !allowed {
		refuseUnauthorized(w)
		return
	}
	if fault != nil {
		w = fault.damage(w, req)
	}
	r.inner.ServeHTTP(w, req)
}

// admit records the request, takes the fault due to it, and says whether its credentials will do.
func (r *Registry) admit(req *http.Request) (*Fault, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, Request{Method: req.Method, Path: req.URL.Path, Range: req.Header.Get("Range")})
	allowed := true
	if r.username != "" || r.password != "" {
		username, password, ok := req.BasicAuth()
		allowed = ok && username == r.username && password == r.password
	}
	return r.takeFault(req), allowed
}

// do serves a request without the network, the count and the faults: the builders' way in.
func (r *Registry) do(req *http.Request) (*http.Response, error) {
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	return record(r.inner, req), nil
}
