// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
)

const (
	// conflictPause is how long a machine waits after somebody else's write came first; the cache has it by then.
	conflictPause = 200 * time.Millisecond
	// contendedPause is how long a machine waits for hosts that others are about to claim, and may yet give up.
	contendedPause = 2 * time.Second
	// unreachablePause is how long a machine waits for a workload cluster that does not answer.
	unreachablePause = 20 * time.Second
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavemachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavemachines/status,verbs=get;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machines;machinepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles RepaveMachines.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// APIReader reads hosts live where a stale answer could cost a claim.
	APIReader client.Reader
	// Nodes of the workload clusters.
	Nodes Nodes
	// Drains of those Nodes.
	Drains Drains
	// Recorder of events; default that of the manager.
	Recorder events.EventRecorder
	// Limits of in-place repaves; default update.DefaultLimits.
	Limits update.Limits
	// Now is the clock; default time.Now.
	Now func() time.Time
	// WatchFilterValue restricts the controller to objects with that watch-filter label; "" for all.
	WatchFilterValue string

	nodeWatcher nodeWatcher
	queue       queue
}

// Reconcile brings one machine a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) {
		// Somebody else wrote first; that is what the locks are for.
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	machine := &infrav1.RepaveMachine{}
	if err := r.Client.Get(ctx, req.NamespacedName, machine); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.responsible(machine) {
		return ctrl.Result{}, nil
	}
	deleting := !machine.DeletionTimestamp.IsZero()
	owner, err := util.GetOwnerMachine(ctx, r.Client, machine.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading owner: %w", err)
	}
	if owner == nil && !deleting {
		// Cluster API rewrites the object until its Machine owns it; touching it now would only cost both a conflict.
		return ctrl.Result{}, nil
	}
	cluster, err := r.clusterOf(ctx, machine, owner)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !controllerutil.ContainsFinalizer(machine, infrav1.MachineFinalizer) {
		if deleting {
			r.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.patchFinalizer(ctx, machine, controllerutil.AddFinalizer)
	}
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, machine); err != nil || isPaused || requeue {
		return ctrl.Result{}, err
	}
	s := &scene{machine: machine, owner: owner, cluster: cluster, before: machine.DeepCopy()}
	if deleting {
		return r.release(ctx, s)
	}
	return r.serve(ctx, s)
}

// responsible: the watch filter of this controller names the machine, and clusterctl has not moved it to another management
// cluster, whose controllers serve it now. Events of hosts and owners come unfiltered.
func (r *Reconciler) responsible(machine *infrav1.RepaveMachine) bool {
	if _, moved := machine.Annotations[infrav1.AnnotationDeleteForMove]; moved {
		return false
	}
	return r.WatchFilterValue == "" || machine.Labels[clusterv1.WatchLabel] == r.WatchFilterValue
}

// scene is what one look at a machine has seen so far.
type scene struct {
	machine *infrav1.RepaveMachine
	// before is the machine as it was last written or read.
	before *infrav1.RepaveMachine
	// owner is the Machine of Cluster API; nil when it is gone.
	owner *clusterv1.Machine
	// cluster of the machine; nil when it is gone.
	cluster *clusterv1.Cluster
}

// clusterOf finds the Cluster by the owner or the label; nil when it is gone.
func (r *Reconciler) clusterOf(ctx context.Context, machine *infrav1.RepaveMachine, owner *clusterv1.Machine) (*clusterv1.Cluster, error) {
	name := machine.Labels[clusterv1.ClusterNameLabel]
	if owner != nil {
		name = owner.Spec.ClusterName
	}
	if name == "" {
		return nil, nil
	}
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: name}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading cluster: %w", err)
	}
	return cluster, nil
}

// patchFinalizer adds or removes the finalizer of a machine and changes nothing else.
func (r *Reconciler) patchFinalizer(ctx context.Context, machine *infrav1.RepaveMachine, change func(client.Object, string) bool) error {
	before := machine.DeepCopy()
	if !change(machine, infrav1.MachineFinalizer) {
		return nil
	}
	return r.Client.Patch(ctx, machine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// save writes the status, when it differs from what is stored, against the version that was read.
func (r *Reconciler) save(ctx context.Context, s *scene) error {
	s.machine.Status.ObservedGeneration = s.machine.Generation
	if equality.Semantic.DeepEqual(s.before.Status, s.machine.Status) {
		return nil
	}
	base := s.machine.DeepCopy()
	base.Status = s.before.Status
	if err := r.Client.Status().Patch(ctx, s.machine, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	s.before = s.machine.DeepCopy()
	return nil
}

// patchObject writes metadata and spec as changed by apply, and keeps the status that is not written yet.
func (r *Reconciler) patchObject(ctx context.Context, s *scene, apply func(*infrav1.RepaveMachine)) error {
	object := s.machine.DeepCopy()
	apply(object)
	base := client.MergeFromWithOptions(s.machine.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, object, base); err != nil {
		return err
	}
	status := s.machine.Status
	s.before = object.DeepCopy()
	object.Status = status
	s.machine = object
	return nil
}

// forget drops what this process keeps of a machine that is gone.
func (r *Reconciler) forget(key client.ObjectKey) {
	r.queue.drop(key)
	r.Drains.Cancel(key)
}
