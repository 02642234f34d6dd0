// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

// perform carries out an effect.
func (r *Reconciler) perform(ctx context.Context, host *infrav1.RepaveHost, effect lifecycle.Effect) error {
	switch e := effect.(type) {
	case lifecycle.None:
		return nil
	case lifecycle.Refresh:
		r.BMCs.Ask(Key(host), redfish.Command{Verb: redfish.Refresh})
		return nil
	case lifecycle.Command:
		return r.command(ctx, host, e)
	default:
		return fmt.Errorf("carrying out %T: no such effect here", e)
	}
}

// command has the BMC do something, when the record it was decided on is still that of the API server. The decision was made
// on the cache, which may lag behind what an earlier leader saved: a power cut decided on an old step would be one too many.
func (r *Reconciler) command(ctx context.Context, host *infrav1.RepaveHost, command lifecycle.Command) error {
	live := &infrav1.RepaveHost{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(host), live); err != nil {
		return fmt.Errorf("reading host: %w", err)
	}
	if live.UID != host.UID || live.Annotations[infrav1.AnnotationRecord] != host.Annotations[infrav1.AnnotationRecord] {
		return apierrors.NewConflict(infrav1.GroupVersion.WithResource("repavehosts").GroupResource(), host.Name, fmt.Errorf("the record has changed"))
	}
	ask := redfish.Command{ID: command.ID}
	switch command.Verb {
	case lifecycle.PowerOn:
		ask.Verb = redfish.PowerOn
	case lifecycle.ForceOff:
		ask.Verb = redfish.ForceOff
	case lifecycle.ShutDown:
		ask.Verb = redfish.GracefulShutdown
	case lifecycle.NetworkBoot:
		ask.Verb = redfish.NetworkBootOnce
		ask.URL = r.Orders.BootURL(host.Namespace, host.Name, string(host.UID), command.Order)
	default:
		return fmt.Errorf("commanding %s: no such verb", command.Verb)
	}
	ctrl.LoggerFrom(ctx).V(2).Info("Commanding BMC", "RepaveHost", klog.KObj(host), "verb", ask.Verb, "command", ask.ID)
	r.BMCs.Ask(Key(host), ask) // refused: another command runs, whose end wakes the host
	return nil
}

// depart lets a deleted host go, whatever its BMC says.
func (r *Reconciler) depart(ctx context.Context, host *infrav1.RepaveHost) error {
	ctrl.LoggerFrom(ctx).V(2).Info("Forgetting BMC", "RepaveHost", klog.KObj(host))
	r.forget(client.ObjectKeyFromObject(host))
	err := r.patch(ctx, host, func() { controllerutil.RemoveFinalizer(host, infrav1.HostFinalizer) })
	return client.IgnoreNotFound(err)
}
