// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/host"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

// wokenBuffer is how many changed readings may wait to be looked at before the goroutines of BMCs wait.
const wokenBuffer = 1024

// setupHosts adds the Host controller and the BMCs behind it.
func setupHosts(ctx context.Context, mgr ctrl.Manager, o *options) error {
	key, err := loadOrderKey(ctx, mgr, o)
	if err != nil {
		return err
	}
	woken := make(chan event.GenericEvent, wokenBuffer)
	bmcs := redfish.NewActors(redfish.Options{
		CallTimeout:  o.bmcTimeout,
		PollInterval: o.bmcPollInterval,
		Notify:       wake(ctx, woken),
		Log:          mgr.GetLogger().WithName("bmc"),
	})
	// Sessions are given back when the manager ends: BMCs have few of them.
	if err := mgr.Add(closing(bmcs.Close)); err != nil {
		return fmt.Errorf("adding the BMCs: %w", err)
	}
	metrics.Registry.MustRegister(redfish.Collectors()...)
	metrics.Registry.MustRegister(host.Collectors()...)
	limits := lifecycle.DefaultLimits()
	limits.Reboot, limits.Install = o.rebootDeadline, o.installDeadline
	hosts := &host.Reconciler{
		Client:           mgr.GetClient(),
		APIReader:        mgr.GetAPIReader(),
		BMCs:             bmcs,
		Orders:           order.URLs{Base: strings.TrimSuffix(o.netbootURL, "/"), Key: key},
		Woken:            woken,
		Limits:           limits,
		WatchFilterValue: o.watchFilter,
	}
	return hosts.SetupWithManager(mgr, concurrency(o.hostConcurrency))
}

// wake turns a changed reading into a look at its host. It waits only while very many others wait, and not past the end.
func wake(ctx context.Context, woken chan<- event.GenericEvent) func(key string) {
	return func(key string) {
		namespace, name, ok := strings.Cut(key, "/")
		if !ok {
			return
		}
		h := &infrav1.RepaveHost{}
		h.Namespace, h.Name = namespace, name
		select {
		case woken <- event.GenericEvent{Object: h}:
		case <-ctx.Done():
		}
	}
}
