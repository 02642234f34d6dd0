// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import "sync"

// remembered is how many IDs a ledger keeps per BMC. Operations on one server follow each other, so that an ID this far
// back is never asked for again.
const remembered = 64

// ledger remembers which IDs were begun, and what came of them. It outlives the actor.
type ledger struct {
	mu       sync.Mutex
	outcomes map[string]Outcome
	order    []string
}

// begin notes that an ID is being carried out from here on, with the outcome it has if nothing more is heard of it.
func (l *ledger) begin(outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outcomes == nil {
		l.outcomes = map[string]Outcome{}
	}
	if len(l.order) == remembered {
		delete(l.outcomes, l.order[0])
		l.order = append(l.order[:0], l.order[1:]...)
	}
	l.order = append(l.order, outcome.ID)
	l.outcomes[outcome.ID] = outcome
}

func (l *ledger) finish(outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[outcome.ID] = outcome
}

func (l *ledger) find(id string) (Outcome, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	outcome, ok := l.outcomes[id]
	return outcome, ok
}
