// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// No metric has a label for the host: with thousands of BMCs each series would be one more per method and code.
var (
	requestsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "repave_bmc_requests_total",
		Help: "Redfish requests sent, by HTTP method and class of the answer (2xx to 5xx, or none).",
	}, []string{"method", "code"})
	requestSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "repave_bmc_request_duration_seconds",
		Help:    "Time from sending a Redfish request to the end of its answer.",
		Buckets: []float64{.01, .05, .1, .5, 1, 2, 5, 10, 20},
	}, []string{"method"})
	sessionsOpened = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "repave_bmc_sessions_opened_total",
		Help: "Redfish sessions opened.",
	})
	sessionsClosed = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "repave_bmc_sessions_closed_total",
		Help: "Redfish sessions given back. What opened counts more was lost to BMCs that did not answer or forgot.",
	})
)

// Collectors returns the package's metrics for one registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{requestsTotal, requestSeconds, sessionsOpened, sessionsClosed}
}

func observe(method string, status int, took time.Duration) {
	class := "none"
	if status > 0 {
		class = strconv.Itoa(status/100) + "xx"
	}
	requestsTotal.WithLabelValues(method, class).Inc()
	requestSeconds.WithLabelValues(method).Observe(took.Seconds())
}
