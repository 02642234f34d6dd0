// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// summary says what was asked and what was proven.
func (s *story) summary(took time.Duration) {
	s.screen.finish()
	s.screen.chapter("Summary")
	requests := 0
	for _, server := range s.fleet.Servers {
		requests += server.BMC.Requests()
	}
	for _, line := range s.proven {
		fmt.Println("  ok  " + line)
	}
	fmt.Printf("\n%d points proven in %.0f s (chapters: %s); %d requests to %d BMCs.\n", len(s.proven), took.Seconds(), strings.Join(s.took, ", "), requests, len(s.fleet.Servers))
}
