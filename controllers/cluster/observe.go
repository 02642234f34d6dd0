// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// maxFailureDomains is the limit of the field in the contract.
const maxFailureDomains = 100

// View is what the status of a RepaveCluster depends on.
type View struct {
	// Endpoint of the control plane: the RepaveCluster's own, else that of the Cluster; zero for none yet.
	Endpoint infrav1.APIEndpoint
	// Zones of the hosts of the namespace, sorted.
	Zones []string
}

func (r *Reconciler) observe(ctx context.Context, infra *infrav1.RepaveCluster, owner *clusterv1.Cluster) (View, error) {
	view := View{Endpoint: infra.Spec.ControlPlaneEndpoint}
	if view.Endpoint == (infrav1.APIEndpoint{}) {
		view.Endpoint = infrav1.APIEndpoint{Host: owner.Spec.ControlPlaneEndpoint.Host, Port: owner.Spec.ControlPlaneEndpoint.Port}
	}
	hosts := &infrav1.RepaveHostList{}
	err := r.Client.List(ctx, hosts, client.InNamespace(infra.Namespace), client.HasLabels{infrav1.LabelZone}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return View{}, fmt.Errorf("listing hosts: %w", err)
	}
	zones := map[string]bool{}
	for i := range hosts.Items {
		if zone := hosts.Items[i].Labels[infrav1.LabelZone]; zone != "" {
			zones[zone] = true
		}
	}
	view.Zones = slices.Sorted(maps.Keys(zones))
	return view, nil
}
