// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// report computes the status from what was seen. That a cluster was provisioned once is never taken back.
func report(infra *infrav1.RepaveCluster, view View) {
	known := view.Endpoint.Host != "" && view.Endpoint.Port != 0
	if known {
		infra.Status.Initialization.Provisioned = ptr.To(true)
	}
	infra.Status.FailureDomains = failureDomains(view.Zones)
	infra.Status.ObservedGeneration = infra.Generation
	ready := metav1.Condition{
		Type: infrav1.ConditionReady, Status: metav1.ConditionFalse, Reason: infrav1.ReasonWaitingForControlPlane,
		Message:            "neither the RepaveCluster nor the Cluster names a control plane endpoint yet",
		ObservedGeneration: infra.Generation,
	}
	if known {
		ready.Status, ready.Reason = metav1.ConditionTrue, infrav1.ReasonControlPlaneEndpointKnow
		ready.Message = fmt.Sprintf("the control plane is reached at %s", net.JoinHostPort(view.Endpoint.Host, strconv.Itoa(int(view.Endpoint.Port))))
	}
	meta.SetStatusCondition(&infra.Status.Conditions, ready)
}

// failureDomains are the zones as Cluster API reads them. Every zone may take members of a control plane.
func failureDomains(zones []string) []clusterv1.FailureDomain {
	var domains []clusterv1.FailureDomain
	for _, zone := range zones[:min(len(zones), maxFailureDomains)] {
		domains = append(domains, clusterv1.FailureDomain{Name: zone, ControlPlane: ptr.To(true)})
	}
	return domains
}
