// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// renewal is the last renewal of a Lease: what the agent's clock said, and when we came to know of it by ours. The clock of a
// server that was just installed may be hours off, so that how old a renewal is can be told by our own clock alone.
type renewal struct {
	told  time.Time
	heard time.Time
}

// heard takes note of a renewal and says when it was, by our clock. The first that this process sees may be old already, and is
// taken by its word where that is not of the future; any later one is new.
func (r *Reconciler) heard(host types.NamespacedName, told time.Time) time.Time {
	known := r.recall(host).renewal
	if known.told.Equal(told) {
		return known.heard
	}
	at := r.Now()
	if known.told.IsZero() && told.Before(at) {
		at = told
	}
	r.remember(host, func(k *kept) { k.renewal = renewal{told: told, heard: at} })
	return at
}

// revived takes note of every renewal and passes those that turn a host from lost to connected. The others come every few
// seconds from each host and tell nothing new; that a Lease runs out is found by looking again when it would.
func (r *Reconciler) revived() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return renewed(e.Object) != nil },
		UpdateFunc:  func(e event.UpdateEvent) bool { return r.revives(e.ObjectOld, e.ObjectNew) },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func (r *Reconciler) revives(before, after client.Object) bool {
	was, is := renewed(before), renewed(after)
	if is == nil || was != nil && was.Equal(*is) {
		return false
	}
	host := types.NamespacedName{Namespace: after.GetNamespace(), Name: after.GetLabels()[infrav1.LabelHost]}
	known := r.recall(host).renewal
	lost := was == nil || is.Sub(*was) >= r.Limits.Lease
	if was != nil && known.told.Equal(*was) {
		lost = r.Now().Sub(known.heard) >= r.Limits.Lease
	}
	r.heard(host, *is)
	return lost
}

// renewed is when the agent renewed its Lease last, by its own clock; nil: never.
func renewed(object client.Object) *time.Time {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok || lease.Spec.RenewTime == nil {
		return nil
	}
	return &lease.Spec.RenewTime.Time
}
