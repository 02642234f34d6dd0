// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// enrolled watches hosts until as many as wanted are reachable. It watches, so that the end is known when the API server says
// it and not at the next poll; and as an informer does, because a plain watch that falls behind is cut off.
type enrolled struct {
	wanted int
	all    chan struct{}

	mu    sync.Mutex
	names map[string]bool
}

// watchEnrolled begins to watch; what exists already has been seen when it returns. The watch ends with ctx.
func (s *stage) watchEnrolled(ctx context.Context) (*enrolled, error) {
	e := &enrolled{wanted: len(s.fleet), all: make(chan struct{}), names: map[string]bool{}}
	hosts, err := cache.New(s.config, cache.Options{Scheme: s.client.Scheme(), DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	if err != nil {
		return nil, fmt.Errorf("watching hosts: %w", err)
	}
	informer, err := hosts.GetInformer(ctx, &infrav1.RepaveHost{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching hosts: %w", err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    e.see,
		UpdateFunc: func(_, now any) { e.see(now) },
	}); err != nil {
		return nil, fmt.Errorf("watching hosts: %w", err)
	}
	go func() { _ = hosts.Start(ctx) }() // it ends with ctx and says nothing else
	if !hosts.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watching hosts: %w", context.Cause(ctx))
	}
	return e, nil
}

func (e *enrolled) see(object any) {
	host, ok := object.(*infrav1.RepaveHost)
	if !ok || !meta.IsStatusConditionTrue(host.Status.Conditions, infrav1.ConditionBMCReachable) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.names[host.Name] {
		return
	}
	e.names[host.Name] = true
	if len(e.names) == e.wanted {
		close(e.all)
	}
}

func (e *enrolled) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.names)
}

// enrol puts the fleet into the inventory. It returns when every host was seen to be reachable, and says how long that took
// from the first object on.
func (s *stage) enrol(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx) // the API server would wait for the watch when it stops
	defer cancel()
	hosts, err := s.watchEnrolled(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.fleet.create(ctx, s.client); err != nil {
		return 0, err
	}
	select {
	case <-hosts.all:
		return time.Since(began), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("enrolling: %d of %d hosts are reachable: %w", hosts.count(), hosts.wanted, context.Cause(ctx))
	}
}
