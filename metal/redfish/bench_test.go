// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

// BenchmarkFleet connects 800 BMCs, waits until all were read and their connections closed, and reports what they cost
// then. The BMCs are one service in this process with 800 sessions: its memory is counted too, so ours is less.
func BenchmarkFleet(b *testing.B) {
	const hosts = 800
	for b.Loop() {
		bmc, err := virtual.New(virtual.Options{Username: username, Password: password, Machine: &virtual.Memory{}, MaxSessions: hosts})
		if err != nil {
			b.Fatal(err)
		}
		heap, stacks, goroutines := memory()
		var (
			mu   sync.Mutex
			told = map[string]bool{}
			all  = make(chan struct{})
		)
		actors := redfish.NewActors(redfish.Options{Notify: func(key string) {
			mu.Lock()
			defer mu.Unlock()
			if told[key] = true; len(told) == hosts {
				close(all)
			}
		}})
		started := time.Now()
		for i := range hosts {
			actors.Connect(fmt.Sprint("default/h", i), redfish.Endpoint{Address: bmc.URL(), Username: username, Password: password})
		}
		<-all
		b.ReportMetric(time.Since(started).Seconds(), "s-to-read-all")
		b.ReportMetric(float64(bmc.Requests())/hosts, "requests/BMC")
		tick := time.NewTicker(100 * time.Millisecond)
		for deadline := time.After(20 * time.Second); runtime.NumGoroutine() > goroutines+hosts+5; {
			select {
			case <-tick.C:
			case <-deadline:
				b.Fatalf("%d goroutines for %d idle BMCs", runtime.NumGoroutine()-goroutines, hosts)
			}
		}
		tick.Stop()
		heapIdle, stacksIdle, goroutinesIdle := memory()
		b.ReportMetric(float64(heapIdle-heap)/hosts/1024, "KiB-heap/BMC")
		b.ReportMetric(float64(stacksIdle-stacks)/hosts/1024, "KiB-stack/BMC")
		b.ReportMetric(float64(goroutinesIdle-goroutines)/hosts, "goroutines/BMC")
		if err := actors.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		if left := bmc.Sessions(); left != 0 {
			b.Fatalf("%d sessions were left behind", left)
		}
		bmc.Close()
	}
}

func memory() (heap, stacks int64, goroutines int) {
	runtime.GC()
	runtime.GC() // the first one only shrinks stacks and frees pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc), int64(stats.StackInuse), runtime.NumGoroutine()
}
