// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"strings"
)

// FaultKind is a way in which a registry lets its client down.
type FaultKind string

const (
	// Unauthorized answers 401 whatever the credentials.
	Unauthorized FaultKind = "Unauthorized"
	// NotFound answers 404 with the registry's own error document.
	NotFound FaultKind = "NotFound"
	// Unavailable answers 503.
	Unavailable FaultKind = "Unavailable"
	// Drop cuts the connection after Fault.After bytes of the body.
	Drop FaultKind = "Drop"
	// Corrupt inverts the byte at offset Fault.After of the body and serves the rest as it is.
	Corrupt FaultKind = "Corrupt"
	// Hold keeps the request waiting until Fault.Release is closed or the client goes away, then serves it.
	Hold FaultKind = "Hold"
)

// Fault is committed on requests whose path has Part in it.
type Fault struct {
	Kind FaultKind
	// Part of the URL path: a digest, "/blobs/", "/manifests/". Empty fits every request.
	Part string
	// After is the body offset of Drop and Corrupt, in bytes of this response.
	After int64
	// Times is how many requests suffer; 0 means all until ClearFaults.
	Times int
	// Release ends a Hold.
	Release <-chan struct{}
}

// Inject adds a fault. Of several that fit a request the one injected first is committed.
func (r *Registry) Inject(fault Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, &fault)
}

// ClearFaults makes the registry well behaved again.
func (r *Registry) ClearFaults() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = nil
}

// takeFault finds the fault due to a request and counts it down. The caller holds the lock.
func (r *Registry) takeFault(req *http.Request) *Fault {
	for i, fault := range r.faults {
		if !strings.Contains(req.URL.Path, fault.Part) {
			continue
		}
		due := *fault
		switch fault.Times {
		case 0:
		case 1:
			r.faults = append(r.faults[:i:i], r.faults[i+1:]...)
		default:
			fault.Times--
		}
		return &due
	}
	return nil
}

// onBody says whether the real registry still answers the request.
func (f *Fault) onBody() bool {
	switch f.Kind {
	case Drop, Corrupt, Hold:
		return true
	default:
		return false
	}
}

func (f *Fault) refuse(w http.ResponseWriter) {
	switch f.Kind {
	case NotFound:
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
	case Unauthorized:
		refuseUnauthorized(w)
	default:
		refuse(w, http.StatusServiceUnavailable, "UNAVAILABLE")
	}
}

func (f *Fault) damage(w http.ResponseWriter, req *http.Request) http.ResponseWriter {
	return &damagedWriter{ResponseWriter: w, fault: f, gone: req.Context().Done()}
}

func refuseUnauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
	refuse(w, http.StatusUnauthorized, "UNAUTHORIZED")
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may be gone; there is nobody else to tell.
	_, _ = w.Write([]byte(`{"errors":[{"code":"` + code + `","message":"as ordered"}]}`))
}

// damagedWriter passes a body on with its fault in it.
type damagedWriter struct {
	http.ResponseWriter
	fault *Fault
	gone  <-chan struct{}
	sent  int64
	held  bool
}

// Write implements io.Writer.
func (w *damagedWriter) Write(p []byte) (int, error) {
	at := w.fault.After - w.sent
	within := at >= 0 && at < int64(len(p))
	switch {
	case w.fault.Kind == Hold && !w.held:
		w.held = true
		select {
		case <-w.fault.Release:
		case <-w.gone:
		}
	case w.fault.Kind == Corrupt && within:
		// The bytes belong to the registry's store: damage a copy.
		p = append([]byte(nil), p...)
		p[at] ^= 0xff
	case w.fault.Kind == Drop && within:
		_, _ = w.ResponseWriter.Write(p[:at])
		if flusher, ok := w.ResponseWriter.(http.Flusher); ok {
			flusher.Flush()
		}
		// net/http's own way to cut a connection in the middle of an answer.
		panic(http.ErrAbortHandler)
	}
	n, err := w.ResponseWriter.Write(p)
	w.sent += int64(n)
	return n, err
}
