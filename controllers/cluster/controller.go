// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repaveclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repaveclusters/status,verbs=get;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconciler reconciles RepaveClusters.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// WatchFilterValue restricts the controller to objects with that watch-filter label; "" for all.
	WatchFilterValue string
}

// SetupWithManager adds the controller and its watches to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	log := mgr.GetLogger().WithValues("controller", "repavecluster")
	toInfrastructure := util.ClusterToInfrastructureMapFunc(
		context.Background(), infrav1.GroupVersion.WithKind("RepaveCluster"), mgr.GetClient(), &infrav1.RepaveCluster{})
	err := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.RepaveCluster{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toInfrastructure)).
		Watches(&infrav1.RepaveHost{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(zoneChanged())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("building the cluster controller: %w", err)
	}
	return nil
}

// Reconcile brings the status of one RepaveCluster up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	infra := &infrav1.RepaveCluster{}
	if err := r.Client.Get(ctx, req.NamespacedName, infra); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	foreign := r.WatchFilterValue != "" && infra.Labels[clusterv1.WatchLabel] != r.WatchFilterValue
	if foreign || annotations.IsExternallyManaged(infra) || !infra.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	owner, err := util.GetOwnerCluster(ctx, r.Client, infra.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading owner: %w", err)
	}
	if owner == nil {
		return ctrl.Result{}, nil
	}
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, owner, infra); err != nil || isPaused || requeue {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	view, err := r.observe(ctx, infra, owner)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing cluster: %w", err)
	}
	return ctrl.Result{}, r.save(ctx, infra, view)
}

// save writes the status when it differs.
func (r *Reconciler) save(ctx context.Context, infra *infrav1.RepaveCluster, view View) error {
	before := infra.DeepCopy()
	report(infra, view)
	if equality.Semantic.DeepEqual(before.Status, infra.Status) {
		return nil
	}
	err := r.Client.Status().Patch(ctx, infra, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// Somebody wrote or deleted it first; the event of that brings the next look.
		return nil
	}
	return err
}

// ofNamespace gives the RepaveClusters beside a host.
func (r *Reconciler) ofNamespace(ctx context.Context, host client.Object) []reconcile.Request {
	clusters := &infrav1.RepaveClusterList{}
	if err := r.Client.List(ctx, clusters, client.InNamespace(host.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing clusters to wake")
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
	}
	return requests
}

// zoneChanged lets only those changes of hosts through that may change the failure domains.
func zoneChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetLabels()[infrav1.LabelZone] != e.ObjectNew.GetLabels()[infrav1.LabelZone]
	}}
}
