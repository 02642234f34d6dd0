// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Command repave is the manager of the Repave provider for Cluster API. One binary plays three roles, each with its own
// permissions: infrastructure (hosts, machines, pools, clusters and the identity of agents), bootstrap (how hosts join) and
// netboot (orders and images for booting hosts, one for each site).
//
// What enters are flags; what leaves is a running manager. Only this package knows both the shells and the hands: it builds
// the hands and gives each controller those that it asks for.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	logsv1 "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	capiflags "sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/version"
)

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "repave:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := defaultOptions()
	cmd := &cobra.Command{
		Use:           "repave",
		Short:         "The manager of the Repave provider for Cluster API",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if err := logsv1.ValidateAndApply(o.logs, nil); err != nil {
				return fmt.Errorf("setting up logs: %w", err)
			}
			ctrl.SetLogger(klog.Background())
			return run(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// run starts the manager with the roles that were asked for and blocks until the context ends.
func run(ctx context.Context, o *options) error {
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	clusters := sync.OnceValues(func() (clustercache.ClusterCache, error) { return clusterCache(ctx, mgr, o) })
	roles := map[string]func(context.Context, ctrl.Manager, *options, connect) error{
		roleInfrastructure: setupInfrastructure,
		roleBootstrap:      setupBootstrap,
		roleNetboot:        setupNetboot,
	}
	for _, role := range o.roles {
		if err := roles[role](ctx, mgr, o, clusters); err != nil {
			return fmt.Errorf("setting up the role %s: %w", role, err)
		}
	}
	ctrl.Log.WithName("setup").Info("Starting manager", "version", version.String(), "roles", o.roles)
	return mgr.Start(ctx)
}

func newManager(o *options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the management cluster: %w", err)
	}
	config.QPS, config.Burst = o.kubeAPIQPS, o.kubeAPIBurst
	config.UserAgent = "repave/" + version.String()
	_, metrics, err := capiflags.GetManagerOptions(o.diagnostics)
	if err != nil {
		return nil, fmt.Errorf("setting up diagnostics: %w", err)
	}
	ofHosts, err := labels.NewRequirement(infrav1.LabelHost, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting Leases: %w", err)
	}
	cacheOptions := cache.Options{
		SyncPeriod: &o.syncPeriod,
		// Of all Leases only those of agents are of interest, and of nobody the managed fields.
		ByObject:         map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {Label: labels.NewSelector().Add(*ofHosts)}},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	if o.namespace != "" {
		cacheOptions.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions,
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Metrics:                       *metrics,
		HealthProbeBindAddress:        o.healthAddr,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              o.leaderElectionID(),
		LeaderElectionNamespace:       o.leaderElectNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr, nil
}
