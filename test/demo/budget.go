// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// budget watches from outside how many members of a rollout are unavailable at once: their Node is cordoned, or their server
// does not run an operating system. It asks no controller.
type budget struct {
	rig *rig

	mu    sync.Mutex
	worst int
	who   []string
	err   error
}

// watch samples until the context ends. Its verdict is in worst.
func (b *budget) watch(ctx context.Context, members map[string]*sim.Server) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		b.sample(ctx, members)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *budget) sample(ctx context.Context, members map[string]*sim.Server) {
	var nodes corev1.NodeList
	if err := b.rig.client.List(ctx, &nodes); err != nil {
		if ctx.Err() == nil {
			b.mu.Lock()
			b.err = fmt.Errorf("watching the budget: %w", err)
			b.mu.Unlock()
		}
		return
	}
	cordoned := map[string]bool{}
	for _, node := range nodes.Items {
		cordoned[node.Name] = node.Spec.Unschedulable
	}
	var down []string
	for name, server := range members {
		if cordoned[name] || server.Box.Running() == "" {
			down = append(down, name)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(down) > b.worst {
		b.worst, b.who = len(down), down
	}
}

// kept says whether no more than so many members were ever unavailable at once.
func (b *budget) kept(limit int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return b.err
	case b.worst == 0:
		return fmt.Errorf("the budget was never used: nothing was seen to be updated")
	case b.worst > limit:
		return fmt.Errorf("%d members were unavailable at once (%v), the budget is %d", b.worst, b.who, limit)
	}
	return nil
}
