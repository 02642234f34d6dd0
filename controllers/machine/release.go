// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// release ends the claim of a machine that is being deleted. It needs neither cluster nor owner, Secret nor host to be there.
func (r *Reconciler) release(ctx context.Context, s *scene) (ctrl.Result, error) {
	r.forget(client.ObjectKeyFromObject(s.machine))
	hosts, err := r.hostsOf(ctx, s.machine)
	if err != nil {
		return ctrl.Result{}, err
	}
	held := hosts[:0]
	for _, host := range hosts {
		free, err := r.letGo(ctx, s, host)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("releasing host %s: %w", host.Name, err)
		}
		if !free {
			held = append(held, host)
		}
	}
	if len(held) == 0 {
		return ctrl.Result{}, client.IgnoreNotFound(r.patchFinalizer(ctx, s.machine, controllerutil.RemoveFinalizer))
	}
	reportRelease(s.machine, held[0])
	if err := r.save(ctx, s); err != nil {
		return ctrl.Result{}, fmt.Errorf("saving status: %w", err)
	}
	return ctrl.Result{}, nil
}

// hostsOf finds every host that names the machine. The chosen one is read live: a claim that was written a moment ago must not
// be missed, or the host would stay claimed by a machine that is gone.
func (r *Reconciler) hostsOf(ctx context.Context, machine *infrav1.RepaveMachine) ([]*infrav1.RepaveHost, error) {
	var hosts []*infrav1.RepaveHost
	chosen := machine.Annotations[infrav1.AnnotationHost]
	if chosen != "" {
		host := &infrav1.RepaveHost{}
		err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: chosen}, host)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading chosen host: %w", err)
		}
		if err == nil && names(host, machine) {
			hosts = append(hosts, host)
		}
	}
	list := &infrav1.RepaveHostList{}
	if err := r.Client.List(ctx, list, client.InNamespace(machine.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing hosts: %w", err)
	}
	for i := range list.Items {
		if list.Items[i].Name != chosen && names(&list.Items[i], machine) {
			hosts = append(hosts, list.Items[i].DeepCopy())
		}
	}
	return hosts, nil
}

// letGo takes the wish back, waits until the host is released, and then the claim. It says whether the host is free.
func (r *Reconciler) letGo(ctx context.Context, s *scene, host *infrav1.RepaveHost) (bool, error) {
	log := ctrl.LoggerFrom(ctx).WithValues("RepaveHost", klog.KObj(host))
	if host.Spec.Desired != nil {
		if err := r.giveBackCordon(ctx, s); err != nil {
			return false, err
		}
		log.V(2).Info("Asking host to end its claim")
		return false, r.patchHost(ctx, host, func() { host.Spec.Desired = nil })
	}
	if !lifecycle.Released(host) && !forced(s.machine) {
		return false, nil
	}
	log.V(2).Info("Releasing host")
	if err := r.patchHost(ctx, host, func() { host.Spec.ClaimRef = nil }); err != nil {
		return false, err
	}
	r.Recorder.Eventf(s.machine, host, corev1.EventTypeNormal, infrav1.EventReleased, "Release", "released host %s", host.Name)
	return true, nil
}

// forced: a person asks to release without power control.
func forced(machine *infrav1.RepaveMachine) bool {
	_, ok := machine.Annotations[infrav1.AnnotationForceRelease]
	return ok
}

func (r *Reconciler) patchHost(ctx context.Context, host *infrav1.RepaveHost, apply func()) error {
	before := host.DeepCopy()
	apply()
	return client.IgnoreNotFound(r.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// giveBackCordon uncordons the Node of an update that is abandoned. A Node of a Machine that is being deleted is left alone:
// Cluster API drained it and removes it, and no pod should start there any more.
func (r *Reconciler) giveBackCordon(ctx context.Context, s *scene) error {
	begun := s.machine.Status.Update
	if begun == nil || begun.Step == infrav1.UpdateUpToDate || s.owner == nil || !s.owner.DeletionTimestamp.IsZero() {
		return nil
	}
	node, reachable, err := r.node(ctx, s, s.machine.Spec.ProviderID)
	if err != nil || !reachable || node.CordonedBy != noteOf(s.machine) {
		// A cluster in trouble must not keep its machines from being deleted.
		return nil
	}
	return r.perform(ctx, s, update.Uncordon{}, node)
}

// reportRelease says what the release waits for.
func reportRelease(machine *infrav1.RepaveMachine, host *infrav1.RepaveHost) {
	reason, message := infrav1.ReasonReleasing, fmt.Sprintf("host %s ends its claim and powers off", host.Name)
	if ready := meta.FindStatusCondition(host.Status.Conditions, infrav1.ConditionReady); ready != nil && ready.Reason == infrav1.ReasonReleaseBlocked {
		reason, message = ready.Reason, fmt.Sprintf("host %s: %s", host.Name, ready.Message)
	}
	if annotations.HasPaused(host) {
		reason, message = infrav1.ReasonPaused, fmt.Sprintf("host %s is paused, so that its claim does not end; remove its annotation %s", host.Name, clusterv1.PausedAnnotation)
	}
	set(machine, infrav1.ConditionReady, false, reason, message)
}
