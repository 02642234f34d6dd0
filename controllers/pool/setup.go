// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var poolKind = schema.GroupVersionKind{
	Group: infrav1.GroupVersion.Group, Version: infrav1.GroupVersion.Version, Kind: "RepaveMachinePool",
}

// SetupWithManager watches pools, their MachinePools, their machines on both sides, and their Clusters.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	log := mgr.GetLogger()
	err := ctrl.NewControllerManagedBy(mgr).
		Named("repavemachinepool").
		For(&infrav1.RepaveMachinePool{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue))).
		Watches(&infrav1.RepaveMachine{}, handler.EnqueueRequestsFromMapFunc(r.poolOfMember)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.poolOfMachine)).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(poolOfMachinePool)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.poolsOfCluster),
			builder.WithPredicates(predicates.ClusterPausedTransitionsOrInfrastructureProvisioned(mgr.GetScheme(), log))).
		WithOptions(options).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up RepaveMachinePool: %w", err)
	}
	return nil
}

// poolOfMember wakes the pool that made a RepaveMachine.
func (r *Reconciler) poolOfMember(ctx context.Context, o client.Object) []ctrl.Request {
	for _, ref := range o.GetOwnerReferences() {
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err == nil && ref.Kind == poolKind.Kind && gv.Group == poolKind.Group {
			return request(o.GetNamespace(), ref.Name)
		}
	}
	return r.poolOfMachine(ctx, o)
}

// poolOfMachine wakes the pool whose label a machine carries. The label may be a hash of the MachinePool's name, so it is compared,
// not read.
func (r *Reconciler) poolOfMachine(ctx context.Context, o client.Object) []ctrl.Request {
	label := o.GetLabels()[clusterv1.MachinePoolNameLabel]
	if label == "" {
		return nil
	}
	pools := &clusterv1.MachinePoolList{}
	if err := r.Client.List(ctx, pools, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing MachinePools")
		return nil
	}
	for i := range pools.Items {
		if format.MustFormatValue(pools.Items[i].Name) == label {
			return poolOfMachinePool(ctx, &pools.Items[i])
		}
	}
	return nil
}

// poolOfMachinePool wakes the pool that a MachinePool names.
func poolOfMachinePool(_ context.Context, o client.Object) []ctrl.Request {
	owner, ok := o.(*clusterv1.MachinePool)
	if !ok || owner.Spec.Template.Spec.InfrastructureRef.GroupKind() != poolKind.GroupKind() {
		return nil
	}
	return request(owner.Namespace, owner.Spec.Template.Spec.InfrastructureRef.Name)
}

// poolsOfCluster wakes all pools of a Cluster.
func (r *Reconciler) poolsOfCluster(ctx context.Context, o client.Object) []ctrl.Request {
	pools := &clusterv1.MachinePoolList{}
	if err := r.Client.List(ctx, pools, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing MachinePools")
		return nil
	}
	var requests []ctrl.Request
	for i := range pools.Items {
		if pools.Items[i].Spec.ClusterName == o.GetName() {
			requests = append(requests, poolOfMachinePool(ctx, &pools.Items[i])...)
		}
	}
	return requests
}

func request(namespace, name string) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}}
}
