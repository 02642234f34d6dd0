// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// netbootOf is the netboot server's part of a host's status, a copy to be changed.
func netbootOf(host *infrav1.RepaveHost) *infrav1.NetbootStatus {
	if host.Status.Netboot == nil {
		return &infrav1.NetbootStatus{}
	}
	return host.Status.Netboot.DeepCopy()
}

// applyNetboot writes the whole of status.netboot, unless the host changed since it was read: then the error is a conflict,
// and what was decided must be decided again. Ownership is forced because nobody else may own this part.
func applyNetboot(ctx context.Context, c client.Client, host *infrav1.RepaveHost, status *infrav1.NetbootStatus) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return fmt.Errorf("encoding netboot status: %w", err)
	}
	wish := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"netboot": content}}}
	wish.SetGroupVersionKind(infrav1.GroupVersion.WithKind("RepaveHost"))
	wish.SetNamespace(host.Namespace)
	wish.SetName(host.Name)
	wish.SetUID(host.UID)
	wish.SetResourceVersion(host.ResourceVersion)
	err = c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(wish), client.FieldOwner(infrav1.NetbootFieldOwner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("writing netboot status: %w", err)
	}
	return nil
}

// change decides on the host and writes what was decided; decide is asked again with a fresh host as often as somebody else
// was faster. It returns nil where nothing is to be written.
func (s *Server) change(ctx context.Context, host *infrav1.RepaveHost, decide func(*infrav1.RepaveHost) (*infrav1.NetbootStatus, error)) error {
	for range writeAttempts {
		status, err := decide(host)
		if err != nil || status == nil {
			return err
		}
		err = applyNetboot(ctx, s.Client, host, status)
		if !apierrors.IsConflict(err) {
			return err
		}
		if host, err = s.live(ctx, host); err != nil {
			return err
		}
	}
	return notYet("busy, try again")
}
