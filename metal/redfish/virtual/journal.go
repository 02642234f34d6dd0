// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import "time"

// Result of a reset request.
type Result string

const (
	Applied Result = "Applied" // accepted; it takes effect after the ResetDelay
	Refused Result = "Refused" // answered with an error, without effect
	Ignored Result = "Ignored" // accepted by order of Faults.IgnoreResets, without effect
)

// ResetEvent is one reset somebody asked for.
type ResetEvent struct {
	Type   string
	At     time.Time
	Result Result
}

func (s *Server) record(resetType string, result Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, ResetEvent{Type: resetType, At: time.Now(), Result: result})
}

// Journal returns every reset asked for, oldest first, whatever came of it.
func (s *Server) Journal() []ResetEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ResetEvent(nil), s.journal...)
}

// Resets returns the resets that were accepted and take effect, oldest first.
func (s *Server) Resets() []ResetEvent {
	var resets []ResetEvent
	for _, event := range s.Journal() {
		if event.Result == Applied {
			resets = append(resets, event)
		}
	}
	return resets
}

// Requests counts the HTTP requests answered or begun.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// MostAtOnce is the largest number of requests that were under way at the same time.
func (s *Server) MostAtOnce() int { return int(s.mostAtOnce.Load()) }

// Sessions counts the open sessions.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	return len(s.sessions)
}
