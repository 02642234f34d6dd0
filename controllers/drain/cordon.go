// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Cordon keeps new pods off a Node and notes on it that the machine (namespace/name) did so: both in one write, so that no
// crash leaves a cordon that nobody gives back. A Node that is cordoned already is left as it is, without a note.
func (w *Workload) Cordon(ctx context.Context, cluster client.ObjectKey, node, machine string) error {
	return w.change(ctx, "cordoning", cluster, node, func(n *corev1.Node) bool {
		if n.Spec.Unschedulable {
			return false
		}
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[infrav1.AnnotationCordoned] = machine
		n.Spec.Unschedulable = true
		return true
	})
}

// Uncordon gives the cordon of the machine back: both note and cordon go in one write. A Node without a note of this machine
// is left as it is, and so is one that is gone.
func (w *Workload) Uncordon(ctx context.Context, cluster client.ObjectKey, node, machine string) error {
	return w.change(ctx, "uncordoning", cluster, node, func(n *corev1.Node) bool {
		if n.Annotations[infrav1.AnnotationCordoned] != machine {
			return false
		}
		delete(n.Annotations, infrav1.AnnotationCordoned)
		n.Spec.Unschedulable = false
		return true
	})
}

// change writes one Node with the resource version that was read: whoever changed it in between makes it a conflict.
func (w *Workload) change(ctx context.Context, doing string, cluster client.ObjectKey, name string, apply func(*corev1.Node) bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, err := w.clusters.GetClient(ctx, cluster)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	node := &corev1.Node{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("%s node %s: %w", doing, name, err))
	}
	before := node.DeepCopy()
	if !apply(node) {
		return nil
	}
	err = c.Patch(ctx, node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s node %s: %w", doing, name, err)
	}
	return nil
}

// telling lets only those events of Nodes through that change what Node gives; kubelets write much more often.
func telling() []predicate.TypedPredicate[*corev1.Node] {
	return []predicate.TypedPredicate[*corev1.Node]{predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool {
			return factsOf(e.ObjectOld) != factsOf(e.ObjectNew) || e.ObjectOld.Spec.ProviderID != e.ObjectNew.Spec.ProviderID
		},
	}}
}
