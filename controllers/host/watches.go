// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// SetupWithManager adds the controller and its watches to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	if r.BMCs == nil || r.Orders == nil {
		return errors.New("setting up the host controller: BMCs and Orders are needed")
	}
	if r.Client == nil {
		r.Client = mgr.GetClient()
	}
	if r.APIReader == nil {
		r.APIReader = mgr.GetAPIReader()
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder("repavehost")
	}
	r.complete()
	log := mgr.GetLogger().WithValues("controller", "repavehost")
	b := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.RepaveHost{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue))).
		WithOptions(options).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(ofLease), builder.WithPredicates(r.revived())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), log)))
	if r.Woken != nil {
		b = b.WatchesRawSource(source.Channel(r.Woken, &handler.EnqueueRequestForObject{}))
	}
	return b.Complete(r)
}

// complete fills in what may be left out.
func (r *Reconciler) complete() {
	if r.Limits == (lifecycle.Limits{}) {
		r.Limits = lifecycle.DefaultLimits()
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.FreshID == nil {
		r.FreshID = func() string { return string(uuid.NewUUID()) }
	}
}

func ofLease(_ context.Context, lease client.Object) []ctrl.Request {
	host := lease.GetLabels()[infrav1.LabelHost]
	if host == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: lease.GetNamespace(), Name: host}}}
}

// ofCluster finds the hosts whose machines are of a Cluster.
func (r *Reconciler) ofCluster(ctx context.Context, cluster client.Object) []ctrl.Request {
	machines := &infrav1.RepaveMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(cluster.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing machines of a cluster")
		return nil
	}
	var requests []ctrl.Request
	for i := range machines.Items {
		if host := machines.Items[i].Annotations[infrav1.AnnotationHost]; host != "" {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: cluster.GetNamespace(), Name: host}})
		}
	}
	return requests
}
