// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

const (
	// conflictPause is how long a host waits after somebody else's write came first; the cache has it by then.
	conflictPause = 200 * time.Millisecond
	// troublePause is how long a host with a BMC, a Secret or a permission in trouble waits before it is looked at again. A
	// BMC that answers again wakes its host sooner; Secrets are not watched.
	troublePause = time.Minute
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavemachines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;create;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles RepaveHosts.
//
// The permissions on Leases and on the status of hosts are also those that the Roles of agents hand on: nobody may grant what
// he has not. Reading Secrets comes from a RoleBinding in each namespace with hosts.
type Reconciler struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// APIReader reads Secrets, and the host itself before its power is commanded.
	APIReader client.Reader
	// BMCs of the hosts.
	BMCs BMCs
	// Orders of installs.
	Orders Orders
	// Woken carries the hosts whose BMC has another reading; nil: none.
	Woken <-chan event.GenericEvent
	// Recorder of events; default that of the manager.
	Recorder events.EventRecorder
	// Limits of all waits; default lifecycle.DefaultLimits.
	Limits lifecycle.Limits
	// Now is the clock, the same as that of the BMCs; default time.Now.
	Now func() time.Time
	// FreshID gives the random ID of a new operation; default a UUID.
	FreshID func() string
	// WatchFilterValue restricts the controller to objects with that watch-filter label; "" for all.
	WatchFilterValue string

	mu   sync.Mutex
	kept map[types.NamespacedName]kept
}

// Reconcile looks at one host.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) {
		// Somebody else wrote first; that is what the locks are for.
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	host := &infrav1.RepaveHost{}
	if err := r.Client.Get(ctx, req.NamespacedName, host); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.leaves(host) {
		r.forget(req.NamespacedName) // whoever cares for the host needs the session of its BMC
		return ctrl.Result{}, nil
	}
	deleting := !host.DeletionTimestamp.IsZero()
	if deleting && !controllerutil.ContainsFinalizer(host, infrav1.HostFinalizer) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	// A host that was never seen gets its finalizer with its first record; one that was, and lost it, gets it back at once.
	seenBefore := host.Annotations[infrav1.AnnotationRecord] != "" || !equality.Semantic.DeepEqual(host.Status, infrav1.RepaveHostStatus{})
	if !deleting && seenBefore && !controllerutil.ContainsFinalizer(host, infrav1.HostFinalizer) {
		return ctrl.Result{}, r.patch(ctx, host, func() { controllerutil.AddFinalizer(host, infrav1.HostFinalizer) })
	}
	cluster, err := r.clusterOf(ctx, host)
	if err != nil {
		return ctrl.Result{}, err
	}
	// That a host is not paused is said with the rest of its status, which spares a write for each host.
	if pausing(cluster, host) || meta.IsStatusConditionTrue(host.Status.Conditions, infrav1.ConditionPaused) {
		if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, host); err != nil || isPaused || requeue {
			return ctrl.Result{}, err
		}
	}
	return r.look(ctx, host)
}

// leaves says whether a host is somebody else's: of another manager by its watch-filter label, which the watches of Leases and
// Clusters do not look at, or of another management cluster, to which clusterctl has moved it.
func (r *Reconciler) leaves(host *infrav1.RepaveHost) bool {
	_, moved := host.Annotations[infrav1.AnnotationDeleteForMove]
	return moved || r.WatchFilterValue != "" && host.Labels[clusterv1.WatchLabel] != r.WatchFilterValue
}

// look is one look at a host: observe, decide, save or act, and say.
func (r *Reconciler) look(ctx context.Context, host *infrav1.RepaveHost) (ctrl.Result, error) {
	seen, err := r.observe(ctx, host)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing host: %w", err)
	}
	if seen.unreadable != nil {
		return ctrl.Result{}, r.saveStatus(ctx, host, func() { reportUnreadable(host, seen) })
	}
	if seen.view.Repin && seen.view.Record.Fingerprint == "" {
		return ctrl.Result{}, r.patch(ctx, host, func() { delete(host.Annotations, infrav1.AnnotationRepinBMC) })
	}
	old := seen.view.Record
	step := lifecycle.Next(seen.view)
	for step.Save {
		if err := r.saveRecord(ctx, host, seen.view, step.Record); err != nil {
			return ctrl.Result{}, err
		}
		if !acquainting(seen.view.Record, step.Record) {
			break
		}
		seen.view.Record = step.Record
		if step.Record.Fingerprint == "" {
			if err := r.observeBMC(ctx, host, &seen); err != nil { // it may have been read meanwhile
				return ctrl.Result{}, fmt.Errorf("observing host: %w", err)
			}
		}
		step = lifecycle.Next(seen.view)
	}
	if _, gone := step.Effect.(lifecycle.Forget); gone {
		return ctrl.Result{}, r.depart(ctx, host)
	}
	if err := r.admit(ctx, host, step.Record.Installed); apierrors.IsForbidden(err) || errors.Is(err, errTaken) {
		seen.barred = err // for a person to mend; the host itself goes on
	} else if err != nil {
		return ctrl.Result{}, err
	}
	before := host.Status.DeepCopy()
	if err := r.saveStatus(ctx, host, func() { r.report(host, seen, step) }); err != nil {
		return ctrl.Result{}, err
	}
	r.tell(host, before, old, step)
	if err := r.perform(ctx, host, step.Effect); err != nil {
		return ctrl.Result{}, fmt.Errorf("performing %T: %w", step.Effect, err)
	}
	return ctrl.Result{RequeueAfter: again(seen, step)}, nil
}

// acquainting says whether a save only took up a host or pinned its BMC: then the look goes on, and status is written once.
func acquainting(before, after lifecycle.Record) bool {
	return before.Operation == nil && after.Operation == nil && before.Ended == after.Ended && before.Release == nil && after.Release == nil
}

func pausing(cluster *clusterv1.Cluster, host *infrav1.RepaveHost) bool {
	return annotations.HasPaused(host) || cluster != nil && ptr.Deref(cluster.Spec.Paused, false)
}

// again is the earliest time at which something may have to be done though nothing wakes the host.
func again(seen observed, step lifecycle.Step) time.Duration {
	after := step.Again
	sooner := func(d time.Duration) {
		if d > 0 && (after == 0 || d < after) {
			after = d
		}
	}
	if seen.view.BMC.Trouble != "" || seen.barred != nil {
		sooner(troublePause)
	}
	sooner(seen.expires)
	return after
}

// clusterOf is the Cluster of the machine that the host serves: pausing it pauses the host, so that a move between management
// clusters finds the host at rest. Nil for a free host.
func (r *Reconciler) clusterOf(ctx context.Context, host *infrav1.RepaveHost) (*clusterv1.Cluster, error) {
	if host.Spec.ClaimRef == nil {
		return nil, nil
	}
	machine := &infrav1.RepaveMachine{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: host.Spec.ClaimRef.Name}, machine)
	if err != nil || machine.Labels[clusterv1.ClusterNameLabel] == "" {
		return nil, wrap("reading claiming machine", client.IgnoreNotFound(err))
	}
	cluster := &clusterv1.Cluster{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: machine.Labels[clusterv1.ClusterNameLabel]}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading cluster: %w", err)
	}
	return cluster, nil
}

// wrap annotates an error, and leaves none as it is.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
