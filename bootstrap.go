// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/repave-io/cluster-api-provider-repave/bootstrap/config"
)

// setupBootstrap adds the controller of RepaveConfigs.
func setupBootstrap(_ context.Context, mgr ctrl.Manager, o *options, connect connect) error {
	clusters, err := connect()
	if err != nil {
		return err
	}
	metrics.Registry.MustRegister(config.Collectors()...)
	configs := &config.Reconciler{
		Client:           mgr.GetClient(),
		APIReader:        mgr.GetAPIReader(),
		Workload:         clusters,
		Now:              time.Now,
		WatchFilterValue: o.watchFilter,
	}
	return configs.SetupWithManager(mgr, concurrency(o.configConcurrency))
}
