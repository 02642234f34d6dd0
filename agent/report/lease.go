// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// How the Lease is kept. Three renewals in a row may be lost before the host counts as gone.
const (
	LeaseDuration = 40 * time.Second
	RenewEvery    = 10 * time.Second
)

// Leases renews the host's Lease.
type Leases interface {
	RenewLease(ctx context.Context, holder string, duration time.Duration, now time.Time) error
}

// KeepLease renews the Lease of the host until the context ends. Renewals that fail are tried again with growing pauses, at the
// latest after RenewEvery.
func KeepLease(ctx context.Context, api Leases, holder string, c clock.Clock, log *slog.Logger) {
	pause := backoff()
	failing := false
	for ctx.Err() == nil {
		next := RenewEvery
		if err := api.RenewLease(ctx, holder, LeaseDuration, c.Now()); err != nil {
			if ctx.Err() != nil {
				return
			}
			if !failing {
				log.Warn("Renewing the lease; tried again until it succeeds", "error", err)
			}
			failing, next = true, pause.Step()
		} else {
			if failing {
				log.Info("Renewed the lease again")
			}
			failing, pause = false, backoff()
		}
		timer := c.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
}

func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6, Cap: RenewEvery}
}
