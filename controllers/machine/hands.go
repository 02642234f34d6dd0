// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
)

// Nodes reaches the Nodes of workload clusters. Nothing blocks on a cluster that does not answer.
type Nodes interface {
	// Node finds a Node by its provider ID; drain.ErrUnreachable when the cluster does not answer.
	Node(ctx context.Context, cluster client.ObjectKey, providerID string) (drain.NodeFacts, error)
	// Cordon keeps new pods off the Node and notes the machine (namespace/name) on it; a cordon of others is left alone.
	Cordon(ctx context.Context, cluster client.ObjectKey, node, machine string) error
	// Uncordon gives back the cordon that the machine noted, and no other.
	Uncordon(ctx context.Context, cluster client.ObjectKey, node, machine string) error
	// WatchNodes lets changes of Nodes reach the controller; calling it again is free.
	WatchNodes(ctx context.Context, cluster client.ObjectKey, controller clustercache.SourceWatcher[reconcile.Request], handle drain.NodeHandler) error
	// Connections gives an event when a cluster is connected or lost; nil for none.
	Connections(controller string, mapFunc func(context.Context, client.Object) []reconcile.Request) source.Source
}

// Drains moves pods away in the background.
type Drains interface {
	// Drain begins, unless it runs already.
	Drain(machine, cluster client.ObjectKey, node string, options infrav1.DrainOptions)
	// Progress of the drain.
	Progress(machine client.ObjectKey) drain.Progress
	// Cancel ends and forgets the drain.
	Cancel(machine client.ObjectKey)
	// Wakes carries the machines whose drain went further.
	Wakes() <-chan event.GenericEvent
}

// nodeWatcher is the part of a controller that takes further watches.
type nodeWatcher = clustercache.SourceWatcher[reconcile.Request]
