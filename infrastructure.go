// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/rand"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/repave-io/cluster-api-provider-repave/controllers/cluster"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
	"github.com/repave-io/cluster-api-provider-repave/controllers/identity"
	"github.com/repave-io/cluster-api-provider-repave/controllers/machine"
	"github.com/repave-io/cluster-api-provider-repave/controllers/pool"
)

// setupInfrastructure adds the controllers of hosts, machines, pools and clusters, and the approver of agents' certificates.
func setupInfrastructure(ctx context.Context, mgr ctrl.Manager, o *options, connect connect) error {
	if err := setupHosts(ctx, mgr, o); err != nil {
		return err
	}
	clusters, err := connect()
	if err != nil {
		return err
	}
	workload := drain.New(clusters, drain.Options{})
	if err := mgr.Add(workload); err != nil {
		return fmt.Errorf("adding the drains: %w", err)
	}
	machines := &machine.Reconciler{
		Client:           mgr.GetClient(),
		APIReader:        mgr.GetAPIReader(),
		Nodes:            workload,
		Drains:           workload,
		WatchFilterValue: o.watchFilter,
	}
	if err := machines.SetupWithManager(mgr, concurrency(o.machineConcurrency)); err != nil {
		return err
	}
	pools := &pool.Reconciler{
		Client:           mgr.GetClient(),
		APIReader:        mgr.GetAPIReader(),
		Recorder:         mgr.GetEventRecorder("repavemachinepool"),
		Suffix:           func() string { return rand.String(5) },
		WatchFilterValue: o.watchFilter,
	}
	if err := pools.SetupWithManager(mgr, concurrency(o.poolConcurrency)); err != nil {
		return err
	}
	repaveClusters := &cluster.Reconciler{
		Client:           mgr.GetClient(),
		WatchFilterValue: o.watchFilter,
	}
	if err := repaveClusters.SetupWithManager(mgr, concurrency(o.clusterConcurrency)); err != nil {
		return err
	}
	approver := &identity.Reconciler{
		Client:           mgr.GetClient(),
		APIReader:        mgr.GetAPIReader(),
		Recorder:         mgr.GetEventRecorder("repave-identity"),
		NetbootUsers:     o.netbootUsers,
		Namespace:        o.namespace,
		WatchFilterValue: o.watchFilter,
	}
	metrics.Registry.MustRegister(pool.Collectors()...)
	metrics.Registry.MustRegister(machine.Collectors()...)
	return approver.SetupWithManager(mgr, concurrency(o.hostConcurrency))
}
