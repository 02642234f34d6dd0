// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
