// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/repave-io/cluster-api-provider-repave/version"
)

// connect gives the connections to workload clusters, which the roles of one process share.
type connect = func() (clustercache.ClusterCache, error)

// clusterCache connects to workload clusters. Their kubeconfigs are read one at a time, by name: nothing lists Secrets.
func clusterCache(ctx context.Context, mgr ctrl.Manager, o *options) (clustercache.ClusterCache, error) {
	clusters, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient:     mgr.GetAPIReader(),
		WatchFilterValue: o.watchFilter,
		Cache:            clustercache.CacheOptions{Indexes: []clustercache.CacheOptionsIndex{clustercache.NodeProviderIDIndex}},
		Client: clustercache.ClientOptions{
			QPS:       o.clusterCacheQPS,
			Burst:     o.clusterCacheBurst,
			UserAgent: "repave/" + version.String(),
		},
	}, concurrency(o.clusterCacheConcurrency))
	if err != nil {
		return nil, fmt.Errorf("connecting to workload clusters: %w", err)
	}
	return clusters, nil
}
