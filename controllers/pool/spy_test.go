// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// recorder keeps the reasons of Events.
type recorder struct {
	mu      sync.Mutex
	reasons []string
}

func (r *recorder) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reasons = append(r.reasons, reason)
}

// take gives the reasons recorded since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.reasons
	r.reasons = nil
	return out
}

// spy is a client that counts writes and lets a test look in just before one.
type spy struct {
	client.Client
	writes int
	before func(verb string, o client.Object)
	stale  bool // lists of RepaveMachines are empty, as of a cache that has not caught up
}

func (s *spy) write(verb string, o client.Object) {
	s.writes++
	if s.before != nil {
		s.before(verb, o)
	}
}

func (s *spy) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	s.write("create", o)
	return s.Client.Create(ctx, o, opts...)
}

func (s *spy) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	s.write("patch", o)
	return s.Client.Patch(ctx, o, p, opts...)
}

func (s *spy) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	s.write("delete", o)
	return s.Client.Delete(ctx, o, opts...)
}

func (s *spy) Status() client.SubResourceWriter { return statusSpy{s.Client.Status(), s} }

func (s *spy) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, members := list.(*infrav1.RepaveMachineList); members && s.stale {
		return nil
	}
	return s.Client.List(ctx, list, opts...)
}

type statusSpy struct {
	client.SubResourceWriter
	spy *spy
}

func (s statusSpy) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	s.spy.write("patch status", o)
	return s.SubResourceWriter.Patch(ctx, o, p, opts...)
}
