// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const small, large = 100, 800

// BenchmarkEnrol takes fleets into the inventory: from the first object created until the last host is reachable. Each
// iteration has a stage of its own, which is not timed.
func BenchmarkEnrol(b *testing.B) {
	var first time.Duration // the time of the small fleet, for the slope
	for _, size := range []int{small, large} {
		b.Run(fmt.Sprintf("hosts=%d", size), func(b *testing.B) {
			var took time.Duration
			total := reading{}
			rounds := 0
			for b.Loop() {
				spent, used := enrolOnce(b, size)
				took += spent
				total = used // much the same every time
				rounds++
			}
			mean := took / time.Duration(rounds)
			b.ReportMetric(float64(size)/mean.Minutes(), "hosts/min")
			report(b, size, total)
			switch {
			case size == small:
				first = mean
			case first > 0:
				b.ReportMetric(float64((mean-first).Microseconds())/1000/float64(size-small), "ms/more-host")
			}
		})
	}
}

// enrolOnce enrols one fleet. The timer of the benchmark runs when it is called, when it returns, and while it enrols.
func enrolOnce(b *testing.B, size int) (time.Duration, reading) {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	ctx, cancel := context.WithTimeout(interrupted, deadline)
	defer cancel()
	s := setStage(ctx, b, size)
	defer s.close()
	before, err := s.settle(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
	took, err := s.enrol(ctx)
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	after, err := s.settle(ctx)
	if err != nil {
		b.Fatal(err)
	}
	return took, after.since(before)
}

// report gives what enrolling one host costs.
func report(b *testing.B, size int, used reading) {
	b.Helper()
	hosts := float64(size)
	b.ReportMetric(used.writes()/hosts, "API-writes/host")
	b.ReportMetric(used.reads()/hosts, "API-reads/host")
	b.ReportMetric(float64(used.bmc)/hosts, "BMC-requests/host")
	b.ReportMetric(used.cpu["repave-infrastructure"].Seconds()*1000/hosts, "CPU-ms/host")
	b.Logf("requests of Repave for each host: %s\nwrites of the API server for each host, of which a POST of a Secret and of a RepaveHost are the benchmark's: %s\nCPU time: %v",
		used.sent.each(size), used.served.each(size), used.cpu)
}
