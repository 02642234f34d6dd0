// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "github.com/prometheus/client_golang/prometheus"

var (
	operationsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "repave_host_operations_total",
		Help: "Operations of hosts that ended, by kind (Reboot, Repave) and outcome (Succeeded, Failed, Cancelled).",
	}, []string{"kind", "outcome"})
	operationSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "repave_host_operation_duration_seconds",
		Help:    "Time from opening an operation of a host to its proof, by kind, of those that succeeded.",
		Buckets: []float64{5, 15, 30, 60, 120, 300, 600, 1200, 2700, 5400},
	}, []string{"kind"})
	attemptsTotal = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "repave_host_operation_attempts_total",
		Help: "Attempts of operations of hosts that were begun.",
	})
)

// Collectors are the metrics of this package.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{operationsTotal, operationSeconds, attemptsTotal}
}
