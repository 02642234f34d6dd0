// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"strings"
	"sync"
)

// Faults misbehave on demand. The zero value behaves.
type Faults struct {
	server *Server

	mu                                     sync.Mutex
	hanging                                chan struct{} // closed when the hang ends; nil when not hanging
	refuse, deny, ignoreResets, ignoreBoot bool
}

// Hang leaves requests without an answer until switched off again; those waiting are then answered.
func (f *Faults) Hang(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case on && f.hanging == nil:
		f.hanging = make(chan struct{})
	case !on && f.hanging != nil:
		close(f.hanging)
		f.hanging = nil
	}
}

// Refuse answers everything with 503, as a BMC that is starting does.
func (f *Faults) Refuse(on bool) { f.set(&f.refuse, on) }

// Deny answers everything that needs an account with 401, also the right one.
func (f *Faults) Deny(on bool) { f.set(&f.deny, on) }

// IgnoreResets accepts resets (204) and does nothing.
func (f *Faults) IgnoreResets(on bool) { f.set(&f.ignoreResets, on) }

// IgnoreBoot accepts changes of the boot override (200) and keeps the old one.
func (f *Faults) IgnoreBoot(on bool) { f.set(&f.ignoreBoot, on) }

// DropSessions forgets all sessions, as a BMC that restarted does.
func (f *Faults) DropSessions() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	clear(f.server.sessions)
}

// SwapCertificate puts another self-signed certificate in place and restarts the web server: connections and sessions
// are gone.
func (f *Faults) SwapCertificate() error {
	old := f.server.certificate.Load()
	certificate, err := selfSigned(f.server.options.Serial, firstIP(old))
	if err != nil {
		return fmt.Errorf("swapping the certificate: %w", err)
	}
	f.server.restart(certificate)
	return nil
}

// FaultNames are what Set takes. All but the last two last until switched off; those happen once when on.
func FaultNames() []string {
	return []string{"hang", "refuse", "deny", "ignore-resets", "ignore-boot", "drop-sessions", "swap-certificate"}
}

// Set switches a fault by its name.
func (f *Faults) Set(name string, on bool) error {
	switch name {
	case "hang":
		f.Hang(on)
	case "refuse":
		f.Refuse(on)
	case "deny":
		f.Deny(on)
	case "ignore-resets":
		f.IgnoreResets(on)
	case "ignore-boot":
		f.IgnoreBoot(on)
	case "drop-sessions":
		if on {
			f.DropSessions()
		}
	case "swap-certificate":
		if on {
			return f.SwapCertificate()
		}
	default:
		return fmt.Errorf("setting fault %q: there are only %s", name, strings.Join(FaultNames(), ", "))
	}
	return nil
}

// Active names the lasting faults that are on, sorted.
func (f *Faults) Active() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	active := []string{}
	add := func(name string, on bool) {
		if on {
			active = append(active, name)
		}
	}
	add("deny", f.deny)
	add("hang", f.hanging != nil)
	add("ignore-boot", f.ignoreBoot)
	add("ignore-resets", f.ignoreResets)
	add("refuse", f.refuse)
	return active
}

func (f *Faults) set(field *bool, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*field = on
}

func (f *Faults) is(field *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *field
}

func (f *Faults) hang() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hanging
}
