// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

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
