// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/rollout"
)

var (
	members = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "repave_pool_members",
		Help: "Members of a pool by state: total, ready, uptodate, updating, degraded or unavailable. A member may be in several.",
	}, []string{"namespace", "name", "state"})

	halted = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "repave_pool_rollout_halted",
		Help: "1 while the rollout of a pool is halted because too many members failed the image, else 0.",
	}, []string{"namespace", "name"})
)

// Collectors are the metrics of this package, to be registered once. Their series number seven for each pool.
func Collectors() []prometheus.Collector { return []prometheus.Collector{members, halted} }

// measure sets the metrics of a pool.
func measure(pool *infrav1.RepaveMachinePool, step rollout.Step) {
	set := func(state string, n int) { members.WithLabelValues(pool.Namespace, pool.Name, state).Set(float64(n)) }
	set("total", step.Counts.Replicas)
	set("ready", step.Counts.Ready)
	set("uptodate", step.Counts.UpToDate)
	set("updating", step.Counts.Updating)
	set("degraded", step.Counts.Degraded)
	set("unavailable", step.Counts.Unavailable)
	stopped := 0.0
	if step.Reason == infrav1.ReasonHalted {
		stopped = 1
	}
	halted.WithLabelValues(pool.Namespace, pool.Name).Set(stopped)
}

// forget removes the metrics of a pool that is gone.
func forget(pool client.ObjectKey) {
	members.DeletePartialMatch(prometheus.Labels{"namespace": pool.Namespace, "name": pool.Name})
	halted.DeleteLabelValues(pool.Namespace, pool.Name)
}
