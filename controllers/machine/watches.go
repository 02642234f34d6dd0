// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
	"github.com/repave-io/cluster-api-provider-repave/controllers/placement"
	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
)

// SetupWithManager adds the controller and its watches to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	if r.Nodes == nil || r.Drains == nil {
		return errors.New("setting up the machine controller: Nodes and Drains are needed")
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder("repavemachine")
	}
	if r.Limits == (update.Limits{}) {
		r.Limits = update.DefaultLimits()
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	log := mgr.GetLogger().WithValues("controller", "repavemachine")
	b := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.RepaveMachine{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue))).
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(
			util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("RepaveMachine")))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster),
			builder.WithPredicates(predicates.ClusterPausedTransitionsOrInfrastructureProvisioned(mgr.GetScheme(), log))).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(r.ofPool), builder.WithPredicates(dataChanged())).
		Watches(&infrav1.RepaveHost{}, r.hostHandler()).
		WatchesRawSource(source.Channel(r.Drains.Wakes(), &handler.EnqueueRequestForObject{}))
	if connections := r.Nodes.Connections("repavemachine", r.ofCluster); connections != nil {
		b = b.WatchesRawSource(connections)
	}
	c, err := b.Build(r)
	if err != nil {
		return fmt.Errorf("building the machine controller: %w", err)
	}
	r.nodeWatcher = c
	return nil
}

// ofCluster gives the machines of a Cluster.
func (r *Reconciler) ofCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.labelled(ctx, cluster.GetNamespace(), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.GetName()})
}

// ofPool gives the members of a MachinePool, which wait for its bootstrap data.
func (r *Reconciler) ofPool(ctx context.Context, pool client.Object) []reconcile.Request {
	return r.labelled(ctx, pool.GetNamespace(), client.MatchingLabels{clusterv1.MachinePoolNameLabel: format.MustFormatValue(pool.GetName())})
}

// dataChanged lets only those changes of MachinePools through that members wait for.
func dataChanged() predicate.Predicate {
	data := func(object client.Object) string {
		pool, ok := object.(*clusterv1.MachinePool)
		if !ok {
			return ""
		}
		return ptr.Deref(pool.Spec.Template.Spec.Bootstrap.DataSecretName, "")
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return data(e.ObjectOld) != data(e.ObjectNew) }}
}

func (r *Reconciler) labelled(ctx context.Context, namespace string, labels client.MatchingLabels) []reconcile.Request {
	machines := &infrav1.RepaveMachineList{}
	if err := r.Client.List(ctx, machines, client.InNamespace(namespace), labels, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing machines to wake")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(machines.Items))
	for i := range machines.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
	}
	return requests
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// recountPause is when a waiting machine looks again after a host changed in a way that frees it for nobody.
const recountPause = 5 * time.Second

// hostHandler wakes the machine that a host names, before and after a change, and those that wait for a host: at once when
// this one is free for them, else now and then, for their message.
func (r *Reconciler) hostHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) {
			wakeClaimant(e.Object, q)
			r.wakeWaiting(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) {
			wakeClaimant(e.ObjectOld, q)
			wakeClaimant(e.ObjectNew, q)
			if !reflect.DeepEqual(candidates(e.ObjectOld), candidates(e.ObjectNew)) {
				r.wakeWaiting(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) {
			wakeClaimant(e.Object, q)
			r.recount(e.Object.GetNamespace(), q)
		},
	}
}

func wakeClaimant(object client.Object, q requests) {
	if host, ok := object.(*infrav1.RepaveHost); ok && host.Spec.ClaimRef != nil {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: host.Namespace, Name: host.Spec.ClaimRef.Name}})
	}
}

// wakeWaiting wakes the machines that wait for a host, if this one could serve them.
func (r *Reconciler) wakeWaiting(object client.Object, q requests) {
	for _, host := range candidates(object) {
		if host.Free() {
			for _, key := range r.queue.waiters(object.GetNamespace()) {
				q.Add(reconcile.Request{NamespacedName: key})
			}
			return
		}
	}
	r.recount(object.GetNamespace(), q)
}

func (r *Reconciler) recount(namespace string, q requests) {
	for _, key := range r.queue.waiters(namespace) {
		q.AddAfter(reconcile.Request{NamespacedName: key}, recountPause)
	}
}

// candidates is what placement sees of a host, for machines with and without a netboot image. Hosts are written often, and what
// does not change it must not cost every waiting machine a look.
func candidates(object client.Object) []placement.Host {
	host, ok := object.(*infrav1.RepaveHost)
	if !ok {
		return nil
	}
	return []placement.Host{candidate(host, true), candidate(host, false)}
}

// nodeHandler wakes the machine that a Node's provider ID names.
func nodeHandler() drain.NodeHandler {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, node *corev1.Node) []reconcile.Request {
		key, ok := machineOf(node.Spec.ProviderID)
		if !ok {
			return nil
		}
		return []reconcile.Request{{NamespacedName: key}}
	})
}
