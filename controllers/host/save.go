// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// patch changes the metadata of the host, provided that nobody else has written since it was read.
func (r *Reconciler) patch(ctx context.Context, host *infrav1.RepaveHost, change func()) error {
	before := host.DeepCopy()
	change()
	if err := r.Client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patching host: %w", err)
	}
	return nil
}

// saveRecord saves the record in its annotation, which comes before status and before every act.
func (r *Reconciler) saveRecord(ctx context.Context, host *infrav1.RepaveHost, view lifecycle.View, record lifecycle.Record) error {
	ctrl.LoggerFrom(ctx).V(2).Info("Saving record", "RepaveHost", klog.KObj(host), "step", stepOf(record))
	return r.patch(ctx, host, func() {
		if host.DeletionTimestamp.IsZero() {
			controllerutil.AddFinalizer(host, infrav1.HostFinalizer)
		}
		if host.Annotations == nil {
			host.Annotations = map[string]string{}
		}
		host.Annotations[infrav1.AnnotationRecord] = record.Encode()
		if view.Repin && record.Fingerprint == "" {
			delete(host.Annotations, infrav1.AnnotationRepinBMC)
		}
		if view.ForceRelease && !view.Deleting && released(view.Record, record) {
			// Used up: the next claim of this host must not end without a power-off.
			delete(host.Annotations, infrav1.AnnotationForceRelease)
		}
	})
}

// released says whether a save ends a release.
func released(before, after lifecycle.Record) bool {
	return after.Release != nil && after.Release.Done || before.Release != nil && after.Release == nil
}

func stepOf(record lifecycle.Record) infrav1.OperationStep {
	if record.Operation == nil {
		return ""
	}
	return record.Operation.Step
}

// saveStatus writes what changes in status, and nothing where nothing does. The parts of agent and netboot server are never
// touched, so they are in no patch.
func (r *Reconciler) saveStatus(ctx context.Context, host *infrav1.RepaveHost, change func()) error {
	before := host.DeepCopy()
	change()
	if equality.Semantic.DeepEqual(before.Status, host.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patching status: %w", err)
	}
	return nil
}
