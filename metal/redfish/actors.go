// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"sync"
)

// Actors keeps one goroutine, one connection and one session per BMC. No method but Close waits for a BMC, and all may be
// called from any goroutine.
type Actors struct {
	options Options
	open    func(Endpoint, Options) (bmc, error)
	running sync.WaitGroup

	mu     sync.Mutex
	actors map[string]*actor
	traces map[string]trace
	closed bool
}

// trace is what stays of a key after Forget: what was done, and the end of the last actor, so that the next one does not
// talk to the same BMC at the same time. It costs some 100 bytes for a host that is gone for good.
type trace struct {
	ledger *ledger
	gone   <-chan struct{}
}

// NewActors has no BMCs yet.
func NewActors(options Options) *Actors {
	return newActors(options, func(endpoint Endpoint, options Options) (bmc, error) {
		return NewClient(endpoint, options)
	})
}

func newActors(options Options, open func(Endpoint, Options) (bmc, error)) *Actors {
	return &Actors{options: options.complete(), open: open, actors: map[string]*actor{}, traces: map[string]trace{}}
}

// Connect makes the BMC known under the key and reads it at once. With the same endpoint it does nothing; with another
// it gives back the old session and goes on with the new endpoint. A reading of another server is not kept.
func (a *Actors) Connect(key string, endpoint Endpoint) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if known, ok := a.actors[key]; ok {
		known.connect(endpoint)
		return
	}
	past, ok := a.traces[key]
	if !ok {
		past.ledger = &ledger{}
	}
	started := newActor(key, endpoint, past, a.options, a.open)
	a.actors[key] = started
	ctx, cancel := context.WithCancel(context.Background())
	started.cancel = cancel
	a.running.Go(func() { started.run(ctx) })
}

// Forget stops the actor and gives back its session, without waiting for either.
func (a *Actors) Forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.actors[key]
	if !ok {
		return
	}
	delete(a.actors, key)
	a.traces[key] = trace{ledger: known.ledger, gone: known.gone}
	known.cancel()
}

// Reading returns a copy of what is known, and whether the key is.
func (a *Actors) Reading(key string) (Reading, bool) {
	known, ok := a.find(key)
	if !ok {
		return Reading{}, false
	}
	return known.copy(), true
}

// Ask has a command carried out, also while the actor waits after failures. It says false when the key is unknown, the
// command is none (a power or boot command without an ID, an unknown verb), or another command is queued or being carried
// out; a queued Refresh makes way for anything else. What was begun with the same ID before is not done again: its
// outcome, once it is there, is Reading.Last.
func (a *Actors) Ask(key string, command Command) bool {
	known, ok := a.find(key)
	return ok && known.ask(command)
}

func (a *Actors) find(key string) (*actor, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.actors[key]
	return known, ok
}

// Close stops all actors and waits until their sessions are given back, or ctx ends. Connect does nothing afterwards.
func (a *Actors) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	for key, known := range a.actors {
		known.cancel()
		delete(a.actors, key)
	}
	a.mu.Unlock()
	done := make(chan struct{})
	go func() {
		a.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return &Error{Class: Transient, Op: "giving back the sessions", Message: "not all BMCs answered in time"}
	}
}
