// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// APIEndpoint is where the API server of a cluster is reached.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host name or address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`
	// port of the API server.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// RepaveClusterSpec says where the control plane is reached. Repave does not provide the address; it passes it on.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.controlPlaneEndpoint) || has(self.controlPlaneEndpoint) && self.controlPlaneEndpoint == oldSelf.controlPlaneEndpoint",message="controlPlaneEndpoint never changes once it is set"
type RepaveClusterSpec struct {
	// controlPlaneEndpoint of the cluster. Absent: that of the Cluster is waited for.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.host) && has(self.port)",message="an endpoint needs host and port"
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`
}

// RepaveClusterStatus is what was seen of a cluster.
type RepaveClusterStatus struct {
	// initialization is read by Cluster API.
	// +optional
	Initialization Initialization `json:"initialization,omitzero"`
	// failureDomains are the values of the label topology.kubernetes.io/zone of the hosts in the namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
	// observedGeneration of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RepaveCluster is the InfraCluster of Cluster API.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=repaveclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.controlPlaneEndpoint.host`
// +kubebuilder:printcolumn:name="Provisioned",type=boolean,JSONPath=`.status.initialization.provisioned`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RepaveCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the control plane is reached.
	// +optional
	Spec RepaveClusterSpec `json:"spec,omitempty,omitzero"`
	// status is what was seen.
	// +optional
	Status RepaveClusterStatus `json:"status,omitempty"`
}

// GetConditions gives the conditions of the cluster.
func (c *RepaveCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the cluster.
func (c *RepaveCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// RepaveClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type RepaveClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveCluster `json:"items"`
}

// RepaveClusterTemplateResource is what Cluster API clones a RepaveCluster from.
type RepaveClusterTemplateResource struct {
	// metadata that the clones get.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec that the clones get.
	// +optional
	Spec RepaveClusterSpec `json:"spec,omitempty,omitzero"`
}

// RepaveClusterTemplateSpec holds the template.
type RepaveClusterTemplateSpec struct {
	// template of the clusters. It never changes: make another template and name that one.
	// +required
	Template RepaveClusterTemplateResource `json:"template,omitzero"`
}

// RepaveClusterTemplate is a template of RepaveClusters for ClusterClasses.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=repaveclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RepaveClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec holds the template.
	// +required
	Spec RepaveClusterTemplateSpec `json:"spec,omitzero"`
}

// RepaveClusterTemplateList is a list of cluster templates.
//
// +kubebuilder:object:root=true
type RepaveClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveClusterTemplate `json:"items"`
}
