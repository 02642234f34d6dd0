// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

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

// OperationKind says what an operation does.
// +kubebuilder:validation:Enum=Reboot;Repave
type OperationKind string

// The kinds of operations.
const (
	OperationReboot OperationKind = "Reboot"
	OperationRepave OperationKind = "Repave"
)

// OperationMethod says by which way an operation is done.
// +kubebuilder:validation:Enum=Power;Netboot
type OperationMethod string

// The ways of operations.
const (
	// MethodPower: off and on by the BMC.
	MethodPower OperationMethod = "Power"
	// MethodNetboot: off, boot from the network, install, boot from disk.
	MethodNetboot OperationMethod = "Netboot"
)

// OperationStep is how far an operation has gone. Steps only move forward within one attempt, and each is saved before its
// act, so that a restart knows what may already have been done.
// +kubebuilder:validation:Enum=Preparing;ShuttingDown;ForcingOff;SettingBoot;PoweringOn;Installing;Proving;GaveUp
type OperationStep string

// The steps of operations, in order.
const (
	StepPreparing    OperationStep = "Preparing"    // nothing touched yet; the netboot image is being fetched
	StepShuttingDown OperationStep = "ShuttingDown" // a graceful shutdown is asked for
	StepForcingOff   OperationStep = "ForcingOff"   // the power is cut
	StepSettingBoot  OperationStep = "SettingBoot"  // the next boot is pointed at the network
	StepPoweringOn   OperationStep = "PoweringOn"   // the power is switched on
	StepInstalling   OperationStep = "Installing"   // the host is expected to take its order and write its disk
	StepProving      OperationStep = "Proving"      // the next boot must prove the outcome
	StepGaveUp       OperationStep = "GaveUp"       // all attempts failed; a higher counter starts over
)

// Operation is an intent: saved before the act, gone when the outcome is proven.
type Operation struct {
	// id of the operation, unique for the host.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id,omitempty"`

	// kind of the operation.
	// +required
	Kind OperationKind `json:"kind,omitempty"`

	// method by which it is done.
	// +required
	Method OperationMethod `json:"method,omitempty"`

	// counter is the value acknowledged when the outcome is proven; 0 where no counter asked (first install of a claim).
	// +optional
	Counter int64 `json:"counter,omitempty"`

	// digest of the netboot image that this operation installs.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`

	// step that was begun last.
	// +required
	Step OperationStep `json:"step,omitempty"`

	// attempt counts from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt,omitempty"`

	// tries counts how often the command of this step was given.
	// +optional
	Tries int32 `json:"tries,omitempty"`

	// bootID is the boot that ran when the operation began; the proof is another one.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootID string `json:"bootID,omitempty"`

	// startedAt is when the operation was opened.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`

	// stepAt is when the step was begun.
	// +required
	StepAt metav1.Time `json:"stepAt,omitzero"`

	// deadline of the attempt.
	// +required
	Deadline metav1.Time `json:"deadline,omitzero"`

	// message says why the last attempt failed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// OperationOutcome is how an operation ended.
// +kubebuilder:validation:Enum=Succeeded;Failed;Cancelled
type OperationOutcome string

// The outcomes of operations.
const (
	OutcomeSucceeded OperationOutcome = "Succeeded"
	OutcomeFailed    OperationOutcome = "Failed"
	OutcomeCancelled OperationOutcome = "Cancelled"
)

// OperationRecord is one line of a host's history.
type OperationRecord struct {
	// id of the operation.
	// +required
	ID string `json:"id,omitempty"`
	// kind of the operation.
	// +required
	Kind OperationKind `json:"kind,omitempty"`
	// why it was begun: Counter or Claim.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Why string `json:"why,omitempty"`
	// outcome of the operation.
	// +required
	Outcome OperationOutcome `json:"outcome,omitempty"`
	// attempts that it took.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// startedAt is when it was opened.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
	// duration from opening to proof, in whole seconds.
	// +optional
	DurationSeconds int64 `json:"durationSeconds,omitempty"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

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

// NetbootStatus is the netboot server's own part of a host's status.
type NetbootStatus struct {
	// image is the netboot image that the server fetched for the open operation.
	// +optional
	Image NetbootImageStatus `json:"image,omitzero"`
	// bootedOrder is the last order for which the host fetched its boot answer.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	BootedOrder string `json:"bootedOrder,omitempty"`
	// redeemedOrder is the last order whose plan was handed out. A plan is handed out once.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	RedeemedOrder string `json:"redeemedOrder,omitempty"`
	// failure is what the installer reported of an order.
	// +optional
	Failure *InstallFailure `json:"failure,omitempty"`
}

// ImageState says how far a netboot image is.
// +kubebuilder:validation:Enum=Pulling;Ready;Failed
type ImageState string

// The states of a netboot image at its server.
const (
	ImagePulling ImageState = "Pulling"
	ImageReady   ImageState = "Ready"
	ImageFailed  ImageState = "Failed"
)

// NetbootImageStatus is a netboot image at the server.
type NetbootImageStatus struct {
	// digest of the image.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
	// state of the image.
	// +optional
	State ImageState `json:"state,omitempty"`
	// reason of a failure: one of the reasons of the condition Ready.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message of a failure.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// InstallFailure is an installer's last word on an order.
type InstallFailure struct {
	// order that failed.
	// +required
	// +kubebuilder:validation:MaxLength=80
	Order string `json:"order,omitempty"`
	// reason: one of the reasons of the condition Ready.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// AgentActivity is what the agent of a host is at.
// +kubebuilder:validation:Enum=Idle;Staging;Staged;Rebooting
type AgentActivity string

// What an agent can be at.
const (
	AgentIdle      AgentActivity = "Idle"
	AgentStaging   AgentActivity = "Staging"
	AgentStaged    AgentActivity = "Staged"
	AgentRebooting AgentActivity = "Rebooting"
)

// AgentStatus is the agent's own part of a host's status, written by server-side apply with its own identity.
type AgentStatus struct {
	// version of the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// driver by which the agent changes its host.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Driver string `json:"driver,omitempty"`
	// bootID of the running kernel.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootID string `json:"bootID,omitempty"`
	// nodeName under which the host joins its cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`
	// addresses of the host.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`
	// booted is the image that runs.
	// +optional
	Booted *HostImage `json:"booted,omitempty"`
	// staged is the image that waits to be booted.
	// +optional
	Staged *HostImage `json:"staged,omitempty"`
	// rollback is the image to go back to.
	// +optional
	Rollback *HostImage `json:"rollback,omitempty"`
	// install is what the last netboot install left on the disk: the proof of an order.
	// +optional
	Install *InstallMark `json:"install,omitempty"`
	// activity is what the agent is at.
	// +optional
	Activity AgentActivity `json:"activity,omitempty"`
	// failure is the last image that could not be staged or did not come up; the agent does not try it again until another
	// image or another boot wish is named.
	// +optional
	Failure *AgentFailure `json:"failure,omitempty"`
}

// HostImage is an image on a host.
type HostImage struct {
	// ref as it was pulled.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Ref string `json:"ref,omitempty"`
	// digest of the image.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
	// version that the image gives itself.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
}

// InstallMark is what an installer leaves on the disk.
type InstallMark struct {
	// order that was carried out.
	// +required
	// +kubebuilder:validation:MaxLength=80
	Order string `json:"order,omitempty"`
	// digest of the netboot image.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
}

// AgentFailure says which image failed on a host, and how.
type AgentFailure struct {
	// digest of the image.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
	// stage that failed.
	// +required
	// +kubebuilder:validation:Enum=Stage;Boot
	Stage string `json:"stage,omitempty"`
	// reason: one of the reasons of the condition NodeUpdated or Ready.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// The stages of an in-place repave that can fail on a host.
const (
	FailedStage = "Stage"
	FailedBoot  = "Boot"
)

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
