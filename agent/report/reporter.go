// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Applier applies the agent's part of the host's status and returns the resource version of the host with it.
type Applier interface {
	ApplyStatus(ctx context.Context, status infrav1.AgentStatus) (resourceVersion string, err error)
}

// Reporter keeps the agent's part of the host's status. It may be used by several goroutines.
type Reporter struct {
	api Applier
	log *slog.Logger
	// wake holds at most one word: there is something to look at.
	wake chan struct{}

	mu     sync.Mutex
	wanted *infrav1.AgentStatus
	// present is what the API holds as far as is known, as of version.
	present *infrav1.AgentStatus
	version string

	// applying is held over an apply, so that no older status overtakes a newer one.
	applying sync.Mutex
}

// NewReporter reports through an API.
func NewReporter(api Applier, log *slog.Logger) *Reporter {
	return &Reporter{api: api, log: log, wake: make(chan struct{}, 1)}
}

// Want says what the status should be from now on. It does not wait.
func (r *Reporter) Want(status infrav1.AgentStatus) {
	r.mu.Lock()
	r.wanted = status.DeepCopy()
	r.mu.Unlock()
	r.wakeUp()
}

// Seen takes note of what the API holds. Somebody may have taken it away: a restored or moved host comes without status. What
// was seen before the last apply is old news.
func (r *Reporter) Seen(present *infrav1.AgentStatus, resourceVersion string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(resourceVersion, r.version)
	if r.version != "" && err == nil && order < 0 {
		return
	}
	r.present, r.version = present.DeepCopy(), resourceVersion
	r.wakeUp()
}

// Keep applies what is wanted whenever it differs from what is there, until the context ends. While the API is away it tries
// again with growing pauses.
func (r *Reporter) Keep(ctx context.Context, c clock.Clock) {
	pause := backoff()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		err := r.Flush(ctx)
		if err == nil {
			pause = backoff()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.log.Warn("Reporting; tried again", "error", err)
		timer := c.NewTimer(pause.Step())
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
		r.wakeUp()
	}
}

// Flush applies what is wanted now, where it differs from what is there.
func (r *Reporter) Flush(ctx context.Context) error {
	r.applying.Lock()
	defer r.applying.Unlock()
	r.mu.Lock()
	wanted, present := r.wanted, r.present
	r.mu.Unlock()
	if wanted == nil || present != nil && equality.Semantic.DeepEqual(present, wanted) {
		return nil
	}
	version, err := r.api.ApplyStatus(ctx, *wanted)
	if err != nil {
		return fmt.Errorf("applying status: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.present, r.version = wanted, version
	return nil
}

func (r *Reporter) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default: // it has not looked since the last time
	}
}
