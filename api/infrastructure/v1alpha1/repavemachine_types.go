// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineSlot is the permission to disrupt a machine so that it reaches one wish. Granted by its pool within the pool's
// budget; a person may grant it to a machine that no pool owns.
type MachineSlot struct {
	// digest of the image for which the slot is granted. A slot for another digest than the wanted one permits nothing.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
}

// DrainOptions say how pods are moved away before a disruption. Evictions honour PodDisruptionBudgets.
type DrainOptions struct {
	// timeout of the whole drain; 0 waits without end. A drain that times out leaves the machine cordoned and is tried again.
	// +optional
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// gracePeriodSeconds for each pod; absent: each pod's own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`
	// force evicts pods that no controller would bring back.
	// +optional
	Force bool `json:"force,omitempty"`
	// deleteEmptyDirData evicts pods whose emptyDir data is lost with them.
	// +optional
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty"`
}

// RepaveMachineSpec says which host a machine takes and what runs on it.
// +kubebuilder:validation:XValidation:rule="has(self.image) || has(self.netboot)",message="name an image (in place), a netboot image, or both"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || has(self.providerID) && self.providerID == oldSelf.providerID",message="providerID never changes once it is set"
type RepaveMachineSpec struct {
	// providerID of the Node: repave://namespace/host/machine. Written by the Machine controller.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// hostSelector picks the hosts that may serve the machine; absent: every free host of the namespace.
	// +optional
	HostSelector *metav1.LabelSelector `json:"hostSelector,omitempty"`

	// image is the operating system image to reach in place.
	// +optional
	Image *Image `json:"image,omitempty"`

	// netboot says what a netboot repave installs. Absent: the host is taken as it runs.
	// +optional
	Netboot *Netboot `json:"netboot,omitempty"`

	// drain says how pods are moved away before a disruption.
	// +optional
	Drain DrainOptions `json:"drain,omitzero"`

	// slot permits the machine to be disrupted for one image.
	// +optional
	Slot *MachineSlot `json:"slot,omitempty"`
}

// HostReference names the host that serves a machine.
type HostReference struct {
	// name of the RepaveHost.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// Initialization tells Cluster API that the first provisioning is over. It never flips back.
// +kubebuilder:validation:MinProperties=1
type Initialization struct {
	// provisioned is true when the infrastructure is there.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// MachineImages are the images on the host of a machine.
type MachineImages struct {
	// booted is the image that runs.
	// +optional
	Booted *HostImage `json:"booted,omitempty"`
	// staged is the image that waits to be booted.
	// +optional
	Staged *HostImage `json:"staged,omitempty"`
	// rollback is the image to go back to.
	// +optional
	Rollback *HostImage `json:"rollback,omitempty"`
}

// UpdateStep is how far a machine is on its way to an image.
// +kubebuilder:validation:Enum=UpToDate;Staging;Staged;Draining;Booting;Verifying;Uncordoning;Failed;RolledBack
type UpdateStep string

// The steps of an in-place repave of one machine.
const (
	UpdateUpToDate    UpdateStep = "UpToDate"    // the wanted image runs and is proven
	UpdateStaging     UpdateStep = "Staging"     // the image is being brought onto the host
	UpdateStaged      UpdateStep = "Staged"      // ready, waits for a slot
	UpdateDraining    UpdateStep = "Draining"    // cordoned, pods are being moved away
	UpdateBooting     UpdateStep = "Booting"     // the host boots into the image
	UpdateVerifying   UpdateStep = "Verifying"   // the image runs, its Node is not proven yet
	UpdateUncordoning UpdateStep = "Uncordoning" // proven, the cordon is given back
	UpdateFailed      UpdateStep = "Failed"      // could not be staged, or did not come up and did not go back
	UpdateRolledBack  UpdateStep = "RolledBack"  // did not come up, the host went back by itself
)

// MachineUpdate is the intent and the progress of an in-place repave of one machine.
type MachineUpdate struct {
	// digest of the image that is aimed at.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
	// step that was begun last.
	// +required
	Step UpdateStep `json:"step,omitempty"`
	// stepAt is when the step was begun.
	// +required
	StepAt metav1.Time `json:"stepAt,omitzero"`
	// bootID that ran when the boot was asked for; the proof is another one.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootID string `json:"bootID,omitempty"`
	// message says why the step is what it is.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// RepaveMachineStatus is what was seen of a machine.
type RepaveMachineStatus struct {
	// initialization is read by Cluster API.
	// +optional
	Initialization Initialization `json:"initialization,omitzero"`
	// addresses of the host.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`
	// failureDomain of the host.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`
	// hostRef is the host that serves the machine.
	// +optional
	HostRef *HostReference `json:"hostRef,omitempty"`
	// image: what is on the host.
	// +optional
	Image MachineImages `json:"image,omitzero"`
	// update is the way to the wanted image.
	// +optional
	Update *MachineUpdate `json:"update,omitempty"`
	// nodeRef is the Node of the machine.
	// +optional
	NodeRef *NodeReference `json:"nodeRef,omitempty"`
	// available is true while the machine is provisioned, its Node is ready and takes pods, and nothing disrupts it. Written by the
	// Machine controller; what is not available counts against the budget of the pool.
	// +optional
	Available bool `json:"available,omitempty"`
	// observedGeneration of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions of the machine.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RepaveMachine is a claim on one host for one member of a cluster: the InfraMachine of Cluster API.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=repavemachines,scope=Namespaced,shortName=rmach,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.metadata.labels['cluster\.x-k8s\.io/cluster-name']`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.status.hostRef.name`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.nodeRef.name`
// +kubebuilder:printcolumn:name="Booted",type=string,JSONPath=`.status.image.booted.version`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.update.step`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="ProviderID",type=string,priority=1,JSONPath=`.spec.providerID`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RepaveMachine struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which host and what runs on it.
	// +required
	Spec RepaveMachineSpec `json:"spec,omitzero"`
	// status is what was seen.
	// +optional
	Status RepaveMachineStatus `json:"status,omitempty"`
}

// GetConditions gives the conditions of the machine.
func (m *RepaveMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the machine.
func (m *RepaveMachine) SetConditions(c []metav1.Condition) { m.Status.Conditions = c }

// WantedDigest is the digest that the machine is to run: of the in-place image where one is named, else of the netboot image.
func (s *RepaveMachineSpec) WantedDigest() string {
	if s.Image != nil {
		return s.Image.Digest()
	}
	return s.Netboot.Digest()
}

// RepaveMachineList is a list of machines.
//
// +kubebuilder:object:root=true
type RepaveMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveMachine `json:"items"`
}
