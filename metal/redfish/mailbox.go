// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

// This is the side of an actor that callers meet: nothing here waits for the BMC.

func (a *actor) rouse() {
	select {
	case a.wake <- struct{}{}:
	default: // it is awake, or will look at everything when it wakes
	}
}

func (a *actor) connect(endpoint Endpoint) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.endpoint
	if old.equal(endpoint) {
		return
	}
	a.endpoint = endpoint
	// Our own first use comes back as a pin: the client holds to it already, another session would be for nothing.
	if old.Fingerprint = endpoint.Fingerprint; old.equal(endpoint) && !a.changed &&
		a.reading.Err == nil && a.reading.Fingerprint == endpoint.Fingerprint {
		return
	}
	if !old.sameServer(endpoint) {
		a.reading = Reading{Running: a.reading.Running, Last: a.reading.Last}
	}
	a.changed = true
	a.rouse()
}

func (a *actor) copy() Reading {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reading.copy()
}

func (a *actor) ask(command Command) bool {
	switch command.Verb {
	case Refresh:
		command.ID = ""
	case PowerOn, ForceOff, GracefulShutdown, NetworkBootOnce:
		if command.ID == "" {
			return false
		}
	default:
		return false
	}
	taken, changed := a.enqueue(command)
	if changed {
		a.options.Notify(a.key)
	}
	return taken
}

func (a *actor) enqueue(command Command) (taken, changed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	running, next := a.reading.Running, a.next
	if command.Verb == Refresh {
		if next == nil && (running == nil || running.Verb == Refresh) {
			a.next = &command
			a.rouse()
			return true, false
		}
		return next != nil && next.Verb == Refresh, false
	}
	for _, known := range []*Command{running, next} {
		if known != nil && known.Verb != Refresh {
			return known.ID == command.ID, false
		}
	}
	if outcome, ok := a.ledger.find(command.ID); ok {
		changed = a.reading.Last == nil || a.reading.Last.ID != outcome.ID
		a.reading.Last = &outcome
		return true, changed
	}
	a.next = &command
	a.rouse()
	return true, false
}
