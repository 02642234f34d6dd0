// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/placement"
)

// claim brings the machine to a host: it saves a choice in the machine, then writes the claim on that host. It gives the host
// once it names the machine, else nil and what is waited for.
func (r *Reconciler) claim(ctx context.Context, s *scene, data string, seen *sight) (*infrav1.RepaveHost, ctrl.Result, error) {
	served := s.machine.Spec.ProviderID != ""
	if wait, message := missing(s, data); wait != "" && !served {
		seen.waitFor(wait, message)
		return nil, ctrl.Result{}, nil
	}
	decision, host, err := r.choose(ctx, s)
	if err != nil {
		return nil, ctrl.Result{}, err
	}
	if served && decision.Verdict != placement.Claimed {
		// A provider ID never changes, so this machine can serve on no other host.
		r.queue.drop(client.ObjectKeyFromObject(s.machine))
		seen.waitFor(infrav1.ReasonHostLost, "no host names the machine any more; delete the Machine to have it replaced")
		return nil, ctrl.Result{}, nil
	}
	switch decision.Verdict {
	case placement.Claimed:
		return host, ctrl.Result{}, r.saveChoice(ctx, s, host.Name)
	case placement.Withdraw:
		return r.withdraw(ctx, s, decision.Host)
	case placement.Save:
		if err := r.saveChoice(ctx, s, decision.Host); err != nil {
			r.queue.drop(client.ObjectKeyFromObject(s.machine))
			return nil, ctrl.Result{}, fmt.Errorf("saving choice: %w", err)
		}
		return host, ctrl.Result{}, r.take(ctx, s, host, data)
	case placement.Claim:
		return host, ctrl.Result{}, r.take(ctx, s, host, data)
	default:
		return nil, r.stay(s.machine, decision, seen), nil
	}
}

// stay notes why no host can serve the machine. The message is not changed with every change of every host.
func (r *Reconciler) stay(machine *infrav1.RepaveMachine, decision placement.Decision, seen *sight) ctrl.Result {
	result := ctrl.Result{}
	if decision.Contended {
		result.RequeueAfter = contendedPause
	}
	message := decision.Message
	told := meta.FindStatusCondition(machine.Status.Conditions, infrav1.ConditionHostClaimed)
	if told != nil && told.Reason == infrav1.ReasonNoHostAvailable && told.Message != message {
		if left := r.queue.tell(client.ObjectKeyFromObject(machine), r.Now()); left > 0 {
			message = told.Message
			if result.RequeueAfter == 0 {
				result.RequeueAfter = left
			}
		}
	}
	seen.waitFor(infrav1.ReasonNoHostAvailable, message)
	return result
}

// missing says what Cluster API has yet to provide before a host may be claimed.
func missing(s *scene, data string) (reason, message string) {
	switch {
	case s.cluster == nil:
		return infrav1.ReasonWaitingForCluster, "the Cluster of the machine does not exist"
	case !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false):
		return infrav1.ReasonWaitingForCluster, "the infrastructure of the Cluster is not provisioned yet"
	case data == "":
		return infrav1.ReasonWaitingForBootstrapData, "the bootstrap data is not there yet"
	default:
		return "", ""
	}
}

// saveChoice notes in the machine which host it sets out to claim, or with "" that it does not any more.
func (r *Reconciler) saveChoice(ctx context.Context, s *scene, host string) error {
	if s.machine.Annotations[infrav1.AnnotationHost] == host {
		return nil
	}
	return r.patchObject(ctx, s, func(machine *infrav1.RepaveMachine) {
		if host == "" {
			delete(machine.Annotations, infrav1.AnnotationHost)
			return
		}
		if machine.Annotations == nil {
			machine.Annotations = map[string]string{}
		}
		machine.Annotations[infrav1.AnnotationHost] = host
	})
}

// take writes claim and wish on a host in one update, against the version on which the choice was made: of two machines that
// want the host one gets a conflict.
func (r *Reconciler) take(ctx context.Context, s *scene, host *infrav1.RepaveHost, data string) error {
	ctrl.LoggerFrom(ctx).V(2).Info("Claiming host", "RepaveHost", klog.KObj(host))
	err := r.ask(ctx, s.machine, host, desiredOf(s.machine, host, data, nil))
	if err != nil {
		claims.WithLabelValues(outcomeOf(err)).Inc()
		return fmt.Errorf("claiming host: %w", err)
	}
	claims.WithLabelValues("claimed").Inc()
	r.Recorder.Eventf(s.machine, host, corev1.EventTypeNormal, infrav1.EventClaimed, "Claim", "claimed host %s", host.Name)
	return nil
}

// ask writes on a host of the machine what is wanted of it, when it differs.
func (r *Reconciler) ask(ctx context.Context, machine *infrav1.RepaveMachine, host *infrav1.RepaveHost, desired infrav1.HostDesired) error {
	before := host.DeepCopy()
	host.Spec.ClaimRef = &infrav1.HostClaim{Name: machine.Name, UID: string(machine.UID)}
	host.Spec.Desired = &desired
	if equality.Semantic.DeepEqual(before.Spec, host.Spec) {
		return nil
	}
	return r.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// withdraw drops a choice that cannot be claimed, after a live look at that host: the claim may be written already, and the
// cache not know of it.
func (r *Reconciler) withdraw(ctx context.Context, s *scene, name string) (*infrav1.RepaveHost, ctrl.Result, error) {
	host := &infrav1.RepaveHost{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: name}, host)
	switch {
	case err == nil && names(host, s.machine):
		return host, ctrl.Result{}, nil
	case client.IgnoreNotFound(err) != nil:
		return nil, ctrl.Result{}, fmt.Errorf("reading chosen host: %w", err)
	}
	ctrl.LoggerFrom(ctx).V(2).Info("Withdrawing choice of host", "RepaveHost", klog.KRef(s.machine.Namespace, name))
	r.queue.drop(client.ObjectKeyFromObject(s.machine))
	if err := r.saveChoice(ctx, s, ""); err != nil {
		return nil, ctrl.Result{}, fmt.Errorf("withdrawing choice: %w", err)
	}
	return nil, ctrl.Result{RequeueAfter: conflictPause}, nil
}

// outcomeOf is how an attempt to claim ended, for the metrics.
func outcomeOf(err error) string {
	if apierrors.IsConflict(err) {
		return "conflict"
	}
	return "error"
}
