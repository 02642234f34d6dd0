// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Format says for whom the bootstrap data is rendered.
// +kubebuilder:validation:Enum=Agent
type Format string

// FormatAgent: JSON for the agent of the host (AgentJoin).
const FormatAgent Format = "Agent"

// Kubelet configures the kubelet of a host.
type Kubelet struct {
	// nodeLabels that the Node registers with. Labels under kubernetes.io are limited to those that a kubelet may set itself.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// taints that the Node registers with.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Taints []corev1.Taint `json:"taints,omitempty"`
}

// File is written on the host before it joins.
type File struct {
	// path on the host, absolute.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="path must be absolute and without .."
	Path string `json:"path,omitempty"`
	// content of the file.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Content string `json:"content,omitempty"`
	// permissions in octal, for example "0640".
	// +optional
	// +kubebuilder:default="0644"
	// +kubebuilder:validation:Pattern=`^0[0-7]{3}$`
	Permissions string `json:"permissions,omitempty"`
}

// RepaveConfigSpec says how a host joins.
type RepaveConfigSpec struct {
	// format of the data.
	// +optional
	// +kubebuilder:default=Agent
	Format Format `json:"format,omitempty"`
	// kubelet of the host.
	// +optional
	Kubelet Kubelet `json:"kubelet,omitempty,omitzero"`
	// files written before joining.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	Files []File `json:"files,omitempty"`
}

// Initialization tells Cluster API that the data is there.
// +kubebuilder:validation:MinProperties=1
type Initialization struct {
	// dataSecretCreated is true when the Secret exists.
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// RepaveConfigStatus is what was made.
type RepaveConfigStatus struct {
	// initialization is read by Cluster API.
	// +optional
	Initialization Initialization `json:"initialization,omitzero"`
	// dataSecretName is the Secret with the data.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName,omitempty"`
	// observedGeneration of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, DataSecretAvailable, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RepaveConfig says how a host joins its cluster: the BootstrapConfig of Cluster API. One config may serve all machines of a
// pool: whatever is particular to a host is filled in on the host.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=repaveconfigs,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.status.dataSecretName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RepaveConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says how a host joins.
	// +optional
	Spec RepaveConfigSpec `json:"spec,omitempty,omitzero"`
	// status is what was made.
	// +optional
	Status RepaveConfigStatus `json:"status,omitempty"`
}

// GetConditions gives the conditions of the config.
func (c *RepaveConfig) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the config.
func (c *RepaveConfig) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// RepaveConfigList is a list of configs.
//
// +kubebuilder:object:root=true
type RepaveConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveConfig `json:"items"`
}

// RepaveConfigTemplateResource is what Cluster API clones a RepaveConfig from.
type RepaveConfigTemplateResource struct {
	// metadata that the clones get.
	// +optional
	ObjectMeta TemplateMeta `json:"metadata,omitempty,omitzero"`
	// spec that the clones get.
	// +optional
	Spec RepaveConfigSpec `json:"spec,omitempty,omitzero"`
}

// TemplateMeta are the labels and annotations of clones.
type TemplateMeta struct {
	// labels of the clones.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the clones.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// RepaveConfigTemplateSpec holds the template.
type RepaveConfigTemplateSpec struct {
	// template of the configs. It never changes: make another template and name that one.
	// +required
	Template RepaveConfigTemplateResource `json:"template,omitzero"`
}

// RepaveConfigTemplate is a template of RepaveConfigs.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=repaveconfigtemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RepaveConfigTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec holds the template.
	// +required
	Spec RepaveConfigTemplateSpec `json:"spec,omitzero"`
}

// RepaveConfigTemplateList is a list of config templates.
//
// +kubebuilder:object:root=true
type RepaveConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveConfigTemplate `json:"items"`
}
