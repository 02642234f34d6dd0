// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import "github.com/prometheus/client_golang/prometheus"

var (
	claims = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "repave_machine_claims_total",
		Help: "Attempts to claim a host, by outcome: claimed, conflict (another write came first) or error.",
	}, []string{"outcome"})
	updates = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "repave_machine_updates_total",
		Help: "Starts and outcomes of in-place repaves of machines, by the reason of their event.",
	}, []string{"event"})
)

// Collectors are the metrics of this package.
func Collectors() []prometheus.Collector { return []prometheus.Collector{claims, updates} }
