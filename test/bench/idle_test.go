// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

const (
	// windowVariable holds another length of the idle window, for example 15m to see the BMCs being read again.
	windowVariable = "REPAVE_BENCH_IDLE"
	defaultWindow  = time.Minute
)

// BenchmarkIdle looks at enrolled hosts that nobody wants anything of. One iteration is one window.
func BenchmarkIdle(b *testing.B) {
	b.Run(fmt.Sprintf("hosts=%d", large), func(b *testing.B) {
		window := idleWindow(b)
		ctx, cancel := context.WithTimeout(interrupted, deadline)
		defer cancel()
		s := setStage(ctx, b, large)
		if _, err := s.enrol(ctx); err != nil {
			b.Fatal(err)
		}
		before, err := s.settle(ctx)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		for b.Loop() {
			if err := wait(interrupted, window, s.repave.Infrastructure.Done()); err != nil {
				b.Fatal(err)
			}
		}
		after, err := s.read(interrupted)
		if err != nil {
			b.Fatal(err)
		}
		reportIdle(b, s, after.since(before), time.Since(began))
	})
}

func reportIdle(b *testing.B, s *stage, used reading, passed time.Duration) {
	b.Helper()
	resident, err := s.repave.Infrastructure.RSS()
	if err != nil {
		b.Fatal(err)
	}
	minutes := passed.Minutes()
	b.ReportMetric(0, "ns/op") // the length of the window, which says nothing
	b.ReportMetric(used.cpu["repave-infrastructure"].Seconds()*1000/minutes, "CPU-ms/min")
	b.ReportMetric(float64(resident)/(1<<20), "RSS-MiB")
	b.ReportMetric(used.writes()/minutes, "API-writes/min")
	b.ReportMetric(used.reads()/minutes, "API-reads/min")
	b.ReportMetric(float64(used.bmc)/minutes, "BMC-requests/min")
	for _, p := range s.repave.Processes() {
		if resident, err := p.RSS(); err == nil {
			b.Logf("%s: %d MiB resident", p.Name(), resident>>20)
		}
	}
	b.Logf("in %v\nrequests of Repave: %s\nwrites of the API server: %s\nCPU time: %v", passed, used.sent.each(1), used.served.each(1), used.cpu)
}

func idleWindow(b *testing.B) time.Duration {
	b.Helper()
	text := os.Getenv(windowVariable)
	if text == "" {
		return defaultWindow
	}
	window, err := time.ParseDuration(text)
	if err != nil || window <= 0 {
		b.Fatalf("%s=%q: a length of time such as 15m is needed", windowVariable, text)
	}
	return window
}

// wait lets the window pass; a process that ends in it is an error.
func wait(ctx context.Context, window time.Duration, ended <-chan struct{}) error {
	passed := time.NewTimer(window)
	defer passed.Stop()
	select {
	case <-passed.C:
		return nil
	case <-ended:
		return fmt.Errorf("idling: Repave ended")
	case <-ctx.Done():
		return fmt.Errorf("idling: %w", context.Cause(ctx))
	}
}
