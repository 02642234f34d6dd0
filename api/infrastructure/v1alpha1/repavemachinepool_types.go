// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout is the budget and the brakes of a pool.
type Rollout struct {
	// maxUnavailable is how many members may be unavailable at once, those that are already down included: a number or a
	// percentage of the members, rounded down but never below one.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="maxUnavailable must be a number of at least 1 or a percentage from 1% to 100%: with 0 nothing could ever be updated"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// paused: staging goes on, no new slots are granted; members that have a slot finish.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// maxFailed is how many members may fail an image before the rollout halts: a number or a percentage of the members,
	// rounded down but never below one.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="maxFailed must be a number of at least 1 or a percentage from 1% to 100%"
	MaxFailed *intstr.IntOrString `json:"maxFailed,omitempty"`
}

// PoolMachineTemplate is what the machines of a pool are made from.
type PoolMachineTemplate struct {
	// metadata that the machines get.
	// +optional
	ObjectMeta TemplateMeta `json:"metadata,omitempty,omitzero"`
	// spec that the machines get. providerID and slot are the controllers' and refused here.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.providerID) && !has(self.slot)",message="providerID and slot are written by the controllers; leave them out of the template"
	Spec RepaveMachineSpec `json:"spec,omitzero"`
}

// TemplateMeta are the labels and annotations of machines made from a template.
type TemplateMeta struct {
	// labels of the machines.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the machines.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RepaveMachinePoolSpec keeps machines at one image.
type RepaveMachinePoolSpec struct {
	// providerIDList of the members. Written by the Pool controller.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=512
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// template of the machines. A changed image is rolled out within the budget.
	// +required
	Template PoolMachineTemplate `json:"template,omitzero"`

	// rollout is the budget and the brakes.
	// +optional
	// +kubebuilder:default={maxUnavailable: 1, maxFailed: 1}
	Rollout Rollout `json:"rollout,omitzero"`
}

// PoolInitialization tells Cluster API that the first provisioning is over.
// +kubebuilder:validation:MinProperties=1
type PoolInitialization struct {
	// provisioned is true when all members have been there once.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// RepaveMachinePoolStatus is what was seen of a pool.
type RepaveMachinePoolStatus struct {
	// ready is what Cluster API v1.14 reads; kept equal to initialization.provisioned.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// initialization is what later versions of Cluster API read.
	// +optional
	Initialization PoolInitialization `json:"initialization,omitzero"`
	// infrastructureMachineKind of the members: RepaveMachine.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InfrastructureMachineKind string `json:"infrastructureMachineKind,omitempty"`
	// selector of the members, for the scale subresource of tools.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`
	// replicas that exist.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// readyReplicas serve their cluster.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// upToDateReplicas run the target digest, proven.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`
	// updatingReplicas are on their way to it.
	// +optional
	UpdatingReplicas *int32 `json:"updatingReplicas,omitempty"`
	// degradedReplicas failed it or are down.
	// +optional
	DegradedReplicas *int32 `json:"degradedReplicas,omitempty"`
	// unavailableReplicas are counted against the budget now.
	// +optional
	UnavailableReplicas *int32 `json:"unavailableReplicas,omitempty"`
	// targetDigest is what the members are to run.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	TargetDigest string `json:"targetDigest,omitempty"`
	// deployedDigest is the last digest that all members ran.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	DeployedDigest string `json:"deployedDigest,omitempty"`
	// observedGeneration of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions of the pool.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RepaveMachinePool keeps machines at one image within a budget: the InfraMachinePool of Cluster API.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=repavemachinepools,scope=Namespaced,shortName=rpool,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="UpToDate",type=integer,JSONPath=`.status.upToDateReplicas`
// +kubebuilder:printcolumn:name="Updating",type=integer,JSONPath=`.status.updatingReplicas`
// +kubebuilder:printcolumn:name="Degraded",type=integer,JSONPath=`.status.degradedReplicas`
// +kubebuilder:printcolumn:name="Rollout",type=string,JSONPath=`.status.conditions[?(@.type=="UpToDate")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="UpToDate")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RepaveMachinePool struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec keeps machines at one image.
	// +required
	Spec RepaveMachinePoolSpec `json:"spec,omitzero"`
	// status is what was seen.
	// +optional
	Status RepaveMachinePoolStatus `json:"status,omitempty"`
}

// GetConditions gives the conditions of the pool.
func (p *RepaveMachinePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions of the pool.
func (p *RepaveMachinePool) SetConditions(c []metav1.Condition) { p.Status.Conditions = c }

// RepaveMachinePoolList is a list of pools.
//
// +kubebuilder:object:root=true
type RepaveMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveMachinePool `json:"items"`
}

// RepaveMachinePoolTemplateResource is what Cluster API clones a pool from.
type RepaveMachinePoolTemplateResource struct {
	// metadata that the clones get.
	// +optional
	ObjectMeta TemplateMeta `json:"metadata,omitempty,omitzero"`
	// spec that the clones get.
	// +required
	Spec RepaveMachinePoolSpec `json:"spec,omitzero"`
}

// RepaveMachinePoolTemplateSpec holds the template.
type RepaveMachinePoolTemplateSpec struct {
	// template of the pools.
	// +required
	Template RepaveMachinePoolTemplateResource `json:"template,omitzero"`
}

// RepaveMachinePoolTemplate is a template of pools for ClusterClasses.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=repavemachinepooltemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RepaveMachinePoolTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec holds the template.
	// +required
	Spec RepaveMachinePoolTemplateSpec `json:"spec,omitzero"`
}

// RepaveMachinePoolTemplateList is a list of pool templates.
//
// +kubebuilder:object:root=true
type RepaveMachinePoolTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveMachinePoolTemplate `json:"items"`
}
