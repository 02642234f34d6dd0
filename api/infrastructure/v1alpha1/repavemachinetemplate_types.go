// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// RepaveMachineTemplateResource is what Cluster API clones a RepaveMachine from.
type RepaveMachineTemplateResource struct {
	// metadata that the clones get.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec that the clones get. providerID and slot are the controllers' and refused here.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.providerID) && !has(self.slot)",message="providerID and slot are written by the controllers; leave them out of the template"
	Spec RepaveMachineSpec `json:"spec,omitzero"`
}

// RepaveMachineTemplateSpec holds the template.
type RepaveMachineTemplateSpec struct {
	// template of the machines. It never changes: make another template and name that one.
	// +required
	Template RepaveMachineTemplateResource `json:"template,omitzero"`
}

// RepaveMachineTemplate is a template of RepaveMachines for MachineDeployments and MachineSets.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=repavemachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.template.spec.image.ref`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RepaveMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec holds the template.
	// +required
	Spec RepaveMachineTemplateSpec `json:"spec,omitzero"`
}

// RepaveMachineTemplateList is a list of machine templates.
//
// +kubebuilder:object:root=true
type RepaveMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveMachineTemplate `json:"items"`
}
