// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"sync/atomic"
)

// request is what a caller asks for. It is comparable: equal requests have equal outcomes.
type request struct {
	ref   Ref
	creds Credentials
}

func newRequest(ref string, creds *Credentials) (request, error) {
	parsed, err := ParseRef(ref)
	if err != nil {
		return request{}, err
	}
	wanted := request{ref: parsed}
	if creds != nil {
		wanted.creds = *creds
	}
	return wanted, nil
}

// flight is one pull under way, shared by all who want its digest.
type flight struct {
	request request
	cancel  context.CancelFunc

	received atomic.Int64
	total    atomic.Int64

	// waiters and held are guarded by Store.mu: the pull ends when nobody waits and Start does not hold it.
	waiters int
	held    bool

	// image and err are set before done is closed.
	done  chan struct{}
	image Image
	err   error
}

// join waits with a flight, a new one when there is none.
func (s *Store) join(wanted request) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.flightLocked(wanted)
	if err != nil {
		return nil, err
	}
	f.waiters++
	return f, nil
}

// leave gives a flight up; the last to leave ends it.
func (s *Store) leave(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waiters--
	if f.waiters > 0 || f.held {
		return
	}
	// It must not be joined while it is ending.
	s.forgetLocked(f)
	f.cancel()
}

func (s *Store) forgetLocked(f *flight) {
	digest := f.request.ref.Digest
	if s.flights[digest] == f {
		delete(s.flights, digest)
	}
}

// flightLocked finds or begins the flight of a digest.
func (s *Store) flightLocked(wanted request) (*flight, error) {
	if s.ctx.Err() != nil {
		return nil, errClosed
	}
	digest := wanted.ref.Digest
	if f, ok := s.flights[digest]; ok {
		return f, nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	f := &flight{request: wanted, cancel: cancel, done: make(chan struct{})}
	s.flights[digest] = f
	s.wg.Add(1)
	go s.fly(ctx, f)
	return f, nil
}

// fly carries a flight out and lands it.
func (s *Store) fly(ctx context.Context, f *flight) {
	defer s.wg.Done()
	defer f.cancel()
	digest := f.request.ref.Digest
	s.opts.Notify(digest)
	image, err := s.takeTurn(ctx, f)

	s.mu.Lock()
	f.image, f.err = image, err
	s.forgetLocked(f)
	s.recordLocked(ctx, f)
	s.mu.Unlock()
	close(f.done)
	s.opts.Notify(digest)
}

// takeTurn pulls when fewer than Options.Pulls others do.
func (s *Store) takeTurn(ctx context.Context, f *flight) (Image, error) {
	select {
	case s.pulls <- struct{}{}:
		defer func() { <-s.pulls }()
	case <-ctx.Done():
		return Image{}, named(ctx, f.request.ref, context.Cause(ctx))
	}
	image, err := s.pull(ctx, f)
	if err != nil {
		return Image{}, named(ctx, f.request.ref, err)
	}
	return image, nil
}

// named makes any error of a pull the Error a caller sees.
func named(ctx context.Context, ref Ref, err error) error {
	// A pull that was ended fails in many ways, none of which says anything about the image.
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	seen := *exchange("pulling", err)
	seen.Ref = ref.String()
	return &seen
}
