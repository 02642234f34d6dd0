// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/rollout"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavemachinepools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavemachinepools/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavemachines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// conflictPause is how long a pool waits after somebody else changed a member in between. The change itself wakes the pool as
// well; the pause is for the case that it was seen before.
const conflictPause = time.Second

// Reconciler keeps the machines of pools.
type Reconciler struct {
	// Client reads from a cache and writes; APIReader reads from the API server.
	Client    client.Client
	APIReader client.Reader
	Recorder  events.EventRecorder
	// Suffix gives the random end of a new machine's name, for example by k8s.io/apimachinery/pkg/util/rand.String(5).
	Suffix func() string
	// WatchFilterValue limits the pools to those with this value of Cluster API's watch label; "" takes all.
	WatchFilterValue string
}

// leaves says whether a pool is somebody else's: of another manager by its watch-filter label (events of members and owners come
// unfiltered), or of another management cluster, to which clusterctl has moved it.
func (r *Reconciler) leaves(pool *infrav1.RepaveMachinePool) bool {
	_, moved := pool.Annotations[infrav1.AnnotationDeleteForMove]
	return moved || r.WatchFilterValue != "" && pool.Labels[clusterv1.WatchLabel] != r.WatchFilterValue
}

// Reconcile looks at one pool.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reterr error) {
	pool := &infrav1.RepaveMachinePool{}
	if err := r.Client.Get(ctx, req.NamespacedName, pool); err != nil {
		if apierrors.IsNotFound(err) {
			forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.leaves(pool) {
		return ctrl.Result{}, nil
	}
	owner, cluster, err := r.owners(ctx, pool)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("finding owners: %w", err)
	}
	deleting := !pool.DeletionTimestamp.IsZero()
	if !deleting && (owner == nil || cluster == nil) {
		return ctrl.Result{}, nil // Cluster API has not adopted the pool yet; its doing so wakes us
	}
	if added, err := finalizers.EnsureFinalizer(ctx, r.Client, pool, infrav1.PoolFinalizer); err != nil || added {
		return ctrl.Result{}, err
	}
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, pool); err != nil || isPaused || requeue {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	saved, err := patch.NewHelper(pool, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("starting to patch: %w", err)
	}
	defer func() {
		err := saved.Patch(ctx, pool, patch.WithOwnedConditions{Conditions: ownedConditions})
		if deleting {
			err = client.IgnoreNotFound(err) // the finalizer was the last
		}
		reterr = errors.Join(reterr, err)
	}()
	if deleting {
		return r.end(ctx, pool, owner)
	}
	return r.keep(ctx, pool, owner)
}

// owners finds the MachinePool and the Cluster of a pool; nil where they are not there.
func (r *Reconciler) owners(ctx context.Context, pool *infrav1.RepaveMachinePool) (*clusterv1.MachinePool, *clusterv1.Cluster, error) {
	owner, err := util.GetOwnerMachinePool(ctx, r.Client, pool.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("getting MachinePool: %w", err)
	}
	if err != nil {
		owner = nil
	}
	name := pool.Labels[clusterv1.ClusterNameLabel]
	if owner != nil {
		name = owner.Spec.ClusterName
	}
	if name == "" {
		return owner, nil, nil
	}
	cluster := &clusterv1.Cluster{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: pool.Namespace, Name: name}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		return owner, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("getting Cluster: %w", err)
	}
	return owner, cluster, nil
}

// keep brings the pool closer to what is wanted.
func (r *Reconciler) keep(ctx context.Context, pool *infrav1.RepaveMachinePool, owner *clusterv1.MachinePool) (ctrl.Result, error) {
	if pool.Status.InfrastructureMachineKind != infrav1.PoolMachineKind {
		// Cluster API adopts machines by this word, so it is saved before there are any.
		pool.Status.InfrastructureMachineKind = infrav1.PoolMachineKind
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, r.Client, pool, owner)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing pool: %w", err)
	}
	step := rollout.Plan(seen.view)
	if len(step.Grant)+step.Create+len(step.Delete)+len(seen.dangling) > 0 {
		// These cannot be repeated without harm. A cache may not show yet what was done a moment ago, so they are planned on
		// what the API server has.
		if seen, err = r.observe(ctx, r.APIReader, pool, owner); err != nil {
			return ctrl.Result{}, fmt.Errorf("observing pool: %w", err)
		}
		step = rollout.Plan(seen.view)
	}
	r.report(pool, seen, step)
	err = r.perform(ctx, pool, seen, step)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("performing plan: %w", err)
	}
	return ctrl.Result{}, nil
}

// end deletes all machines of a pool through Cluster API and lets the pool go when none is left.
func (r *Reconciler) end(ctx context.Context, pool *infrav1.RepaveMachinePool, owner *clusterv1.MachinePool) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(pool, infrav1.PoolFinalizer) {
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, r.Client, pool, owner)
	if err == nil && (len(seen.members) == 0 || len(seen.standing())+len(seen.abandoned()) > 0) {
		// As in keep: what is about to be deleted or let go is decided on what the API server has.
		seen, err = r.observe(ctx, r.APIReader, pool, owner)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing pool: %w", err)
	}
	if len(seen.members) == 0 && len(seen.owners) == 0 {
		controllerutil.RemoveFinalizer(pool, infrav1.PoolFinalizer)
		forget(client.ObjectKeyFromObject(pool))
		return ctrl.Result{}, nil
	}
	r.reportEnd(pool, seen)
	if err := r.deleteAll(ctx, pool, seen); err != nil {
		return ctrl.Result{}, fmt.Errorf("deleting machines: %w", err)
	}
	return ctrl.Result{}, nil
}
