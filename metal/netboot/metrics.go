// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"io"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	requestsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "repave_netboot_requests_total",
		Help: "Requests that the netboot server answered, by verb and HTTP status.",
	}, []string{"verb", "code"})
	refusedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "repave_netboot_orders_refused_total",
		Help: "Requests with an unknown, wrong, used or outdated order, by reason. A steady rate is somebody trying, or a host in a boot loop.",
	}, []string{"reason"})
	bytesTotal = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "repave_netboot_bytes_total",
		Help: "Bytes of answers sent to hosts, files of images included.",
	})
)

// Collectors are the metrics of this package.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{requestsTotal, refusedTotal, bytesTotal}
}

// recorded is a response whose status and size are counted.
type recorded struct {
	http.ResponseWriter
	status int
}

func (r *recorded) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorded) Write(p []byte) (int, error) {
	r.began()
	n, err := r.ResponseWriter.Write(p)
	bytesTotal.Add(float64(n))
	return n, err
}

// ReadFrom lets the kernel copy files to the connection.
func (r *recorded) ReadFrom(source io.Reader) (int64, error) {
	r.began()
	n, err := io.Copy(r.ResponseWriter, source)
	bytesTotal.Add(float64(n))
	return n, err
}

// Unwrap lets http.ResponseController set deadlines.
func (r *recorded) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorded) began() {
	if r.status == 0 {
		r.status = http.StatusOK
	}
}

func (r *recorded) count(verb string) {
	r.began()
	requestsTotal.WithLabelValues(verb, strconv.Itoa(r.status)).Inc()
}
