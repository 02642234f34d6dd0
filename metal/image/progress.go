// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"time"
)

// State of an image in the store.
type State string

const (
	// Absent: not here, and nobody asked for it lately.
	Absent State = "Absent"
	// Pulling: under way, or waiting for its turn.
	Pulling State = "Pulling"
	// Complete: Lookup has it.
	Complete State = "Complete"
	// Failed: the last pull failed; Start tries again after RetryAt.
	Failed State = "Failed"
)

// Progress says how far an image is.
type Progress struct {
	Digest string
	State  State
	// Done and Total count the bytes of the layers as they are transferred; Total is 0 until the manifest is read, and
	// both are 0 unless Pulling.
	Done, Total int64
	// Err is why, when Failed.
	Err *Error
	// RetryAt is when Start will pull again, when Failed; zero when only another reference can help.
	RetryAt time.Time
}

// failed is the memory of a pull that failed.
type failed struct {
	request  request
	err      *Error
	attempts int
	retryAt  time.Time
}

// maxFailures bounds the memory: references come from objects that people write.
const maxFailures = 1024

// Start makes sure that an image is being pulled when it is not here, and returns at once: for reconcilers, which
// come back when Options.Notify told the digest. After a failure the same reference and credentials are tried again
// only when the back-off is over; others at once.
func (s *Store) Start(ref string, creds *Credentials) Progress {
	wanted, err := newRequest(ref, creds)
	if err != nil {
		return refused("", err)
	}
	digest := wanted.ref.Digest
	if _, ok := s.Lookup(digest); ok {
		return Progress{Digest: digest, State: Complete}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.failures[digest]; ok && s.flights[digest] == nil {
		if last.request == wanted && s.opts.Now().Before(last.retryAt) {
			return last.progress()
		}
	}
	f, err := s.flightLocked(wanted)
	if err != nil {
		return refused(digest, err)
	}
	f.held = true
	return f.progress()
}

// Progress says how far an image is, without changing anything.
func (s *Store) Progress(digest string) Progress {
	s.mu.Lock()
	f, flying := s.flights[digest]
	last, hasFailed := s.failures[digest]
	s.mu.Unlock()
	if flying {
		return f.progress()
	}
	if _, ok := s.Lookup(digest); ok {
		return Progress{Digest: digest, State: Complete}
	}
	if hasFailed {
		return last.progress()
	}
	return Progress{Digest: digest, State: Absent}
}

func refused(digest string, err error) Progress {
	typed, _ := errors.AsType[*Error](err)
	return Progress{Digest: digest, State: Failed, Err: typed}
}

func (f *flight) progress() Progress {
	return Progress{
		Digest: f.request.ref.Digest,
		State:  Pulling,
		Done:   f.received.Load(),
		Total:  f.total.Load(),
	}
}

func (l failed) progress() Progress {
	return Progress{Digest: l.request.ref.Digest, State: Failed, Err: l.err, RetryAt: l.retryAt}
}

// recordLocked remembers the outcome of a flight. One that was ended has none.
func (s *Store) recordLocked(ctx context.Context, f *flight) {
	digest := f.request.ref.Digest
	if f.err == nil {
		delete(s.failures, digest)
		return
	}
	typed, ok := errors.AsType[*Error](f.err)
	if !ok || ctx.Err() != nil {
		return
	}
	attempts := 1
	if last, ok := s.failures[digest]; ok && last.request == f.request {
		attempts = last.attempts + 1
	}
	s.pruneLocked()
	s.failures[digest] = failed{
		request:  f.request,
		err:      typed,
		attempts: attempts,
		retryAt:  s.opts.Now().Add(s.opts.backOff(attempts)),
	}
}

// pruneLocked drops the failure that is over first when there are too many.
func (s *Store) pruneLocked() {
	if len(s.failures) < maxFailures {
		return
	}
	var oldest string
	for digest, last := range s.failures {
		if oldest == "" || last.retryAt.Before(s.failures[oldest].retryAt) {
			oldest = digest
		}
	}
	delete(s.failures, oldest)
}

// backOff is the wait after so many failures in a row.
func (o *Options) backOff(attempts int) time.Duration {
	wait := o.RetryMin
	for range attempts - 1 {
		if wait >= o.RetryMax/2 {
			return o.RetryMax
		}
		wait *= 2
	}
	return min(wait, o.RetryMax)
}
