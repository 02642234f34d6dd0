// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/metal/netboot"
)

// setupNetboot adds the netboot server and the fetcher of its images.
func setupNetboot(ctx context.Context, mgr ctrl.Manager, o *options, _ connect) error {
	key, err := loadOrderKey(ctx, mgr, o)
	if err != nil {
		return err
	}
	apiServer, err := agentAPIServer(mgr, o)
	if err != nil {
		return err
	}
	fetcher := netboot.NewFetcher(mgr.GetClient(), mgr.GetAPIReader())
	fetcher.WatchFilterValue = o.watchFilter
	store, err := image.NewStore(o.imageDir, image.Options{Notify: fetcher.Notify})
	if err != nil {
		return fmt.Errorf("opening the images: %w", err)
	}
	fetcher.Store = store
	server, err := netboot.New(netboot.Options{
		Listen:    o.netbootListen,
		BaseURL:   o.netbootURL,
		APIServer: apiServer,
		Key:       key,
		Store:     store,
		Client:    mgr.GetClient(),
		APIReader: mgr.GetAPIReader(),
		Recorder:  mgr.GetEventRecorder("repave-netboot"),
	})
	if err != nil {
		return err
	}
	metrics.Registry.MustRegister(netboot.Collectors()...)
	if err := fetcher.SetupWithManager(mgr, concurrency(o.hostConcurrency)); err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the netboot server: %w", err)
	}
	return mgr.Add(closing(func(context.Context) error { return store.Close() }))
}

// agentAPIServer is where and how hosts reach the management cluster.
func agentAPIServer(mgr ctrl.Manager, o *options) (orderv1.APIServer, error) {
	config := mgr.GetConfig()
	server := orderv1.APIServer{URL: o.agentAPIServer, CA: config.CAData}
	if server.URL == "" {
		server.URL = config.Host
	}
	if len(server.CA) == 0 && config.CAFile != "" {
		ca, err := os.ReadFile(config.CAFile)
		if err != nil {
			return server, fmt.Errorf("reading the CA of the management cluster: %w", err)
		}
		server.CA = ca
	}
	return server, nil
}

// closing is a runnable that does nothing until the manager ends. It needs no leadership: what is closed was opened by every
// replica.
type closing func(context.Context) error

func (c closing) Start(ctx context.Context) error {
	<-ctx.Done()
	return c(context.WithoutCancel(ctx))
}

// NeedLeaderElection says that replicas that do not lead close as well.
func (c closing) NeedLeaderElection() bool { return false }
