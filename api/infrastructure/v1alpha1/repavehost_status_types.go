// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostPhase sums a host up for people. It is never read back to decide.
// +kubebuilder:validation:Enum=Pending;Available;Provisioning;Joining;Ready;Rebooting;Repaving;Releasing;Failed
type HostPhase string

// The phases of a host.
const (
	PhasePending      HostPhase = "Pending"      // not seen yet
	PhaseAvailable    HostPhase = "Available"    // seen, free to be claimed
	PhaseProvisioning HostPhase = "Provisioning" // claimed, its first install runs
	PhaseJoining      HostPhase = "Joining"      // installed, its Node is not there yet
	PhaseReady        HostPhase = "Ready"        // serves its machine
	PhaseRebooting    HostPhase = "Rebooting"    // a reboot runs
	PhaseRepaving     HostPhase = "Repaving"     // a repave runs
	PhaseReleasing    HostPhase = "Releasing"    // its machine is going away
	PhaseFailed       HostPhase = "Failed"       // gave up; the conditions say what a person can do
)

// PowerState is the power of a server as its BMC reports it.
// +kubebuilder:validation:Enum=On;Off;PoweringOn;PoweringOff;Unknown
type PowerState string

// The power states.
const (
	PowerOn          PowerState = "On"
	PowerOff         PowerState = "Off"
	PowerPoweringOn  PowerState = "PoweringOn"
	PowerPoweringOff PowerState = "PoweringOff"
	PowerUnknown     PowerState = "Unknown"
)

// BMCStatus is what was learnt of a BMC.
type BMCStatus struct {
	// certificateFingerprint is the pinned certificate: SHA-256 of the leaf in hex. To accept a new certificate, remove the
	// pin: kubectl annotate repavehost NAME repave.io/repin-bmc=true.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CertificateFingerprint string `json:"certificateFingerprint,omitempty"`
	// manufacturer of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Manufacturer string `json:"manufacturer,omitempty"`
	// model of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Model string `json:"model,omitempty"`
	// serialNumber of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SerialNumber string `json:"serialNumber,omitempty"`
	// uuid of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UUID string `json:"uuid,omitempty"`
	// firmwareVersion of the BMC.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	FirmwareVersion string `json:"firmwareVersion,omitempty"`
	// capabilities that were discovered.
	// +optional
	Capabilities BMCCapabilities `json:"capabilities,omitzero"`
}

// BMCCapabilities is what a BMC said it can do.
type BMCCapabilities struct {
	// resetTypes that the system accepts.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	ResetTypes []string `json:"resetTypes,omitempty"`
	// bootTargets that a boot override may name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	BootTargets []string `json:"bootTargets,omitempty"`
	// httpBootURI: the BMC takes the URL of an HTTP boot.
	// +optional
	HTTPBootURI bool `json:"httpBootURI,omitempty"`
}

// NodeReference names a Node of the cluster that a host serves.
type NodeReference struct {
	// name of the Node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// RepaveHostStatus is what was seen of a host. Losing it reboots and installs nothing: what must survive is mirrored in the
// annotation repave.io/record.
type RepaveHostStatus struct {
	// phase sums the host up for people.
	// +optional
	Phase HostPhase `json:"phase,omitempty"`
	// operation in flight; absent: none.
	// +optional
	Operation *Operation `json:"operation,omitempty"`
	// operations acknowledged: the counters whose outcome was proven.
	// +optional
	Operations Counters `json:"operations,omitzero"`
	// history holds the last 10 operations, the newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []OperationRecord `json:"history,omitempty"`
	// bmc is what was learnt of the BMC.
	// +optional
	BMC *BMCStatus `json:"bmc,omitempty"`
	// power as last read.
	// +optional
	Power PowerState `json:"power,omitempty"`
	// installed is the claim whose install was proven: its provider ID.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Installed string `json:"installed,omitempty"`
	// netboot is written by the netboot server only.
	// +optional
	Netboot *NetbootStatus `json:"netboot,omitempty"`
	// agent is written by the host's agent only.
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`
	// nodeRef is the Node that the host runs.
	// +optional
	NodeRef *NodeReference `json:"nodeRef,omitempty"`
	// observedGeneration of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions of the host.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
