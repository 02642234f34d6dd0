// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// Image names one OCI image, pinned by digest. Tags are not followed yet, so a reference without a digest is refused.
type Image struct {
	// ref is the image reference with its digest, for example registry.example/os@sha256:….
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^@\\\\s]+@sha256:[0-9a-f]{64}$')",message="pin the image by digest: name@sha256:<64 hex digits>"
	Ref string `json:"ref,omitempty"`

	// pullSecretRef names a Secret of type kubernetes.io/dockerconfigjson in the same namespace.
	// +optional
	PullSecretRef *SecretReference `json:"pullSecretRef,omitempty"`
}

// Digest gives the digest of the reference ("sha256:…"), or "" for a nil or unpinned image.
func (i *Image) Digest() string {
	if i == nil {
		return ""
	}
	_, digest, _ := strings.Cut(i.Ref, "@")
	return digest
}

// Netboot says what a netboot repave puts on the host.
type Netboot struct {
	// image holds the boot artefacts and the disk image.
	// +required
	Image Image `json:"image,omitzero"`
}

// Digest gives the digest of the netboot image, or "" where none is named.
func (n *Netboot) Digest() string {
	if n == nil {
		return ""
	}
	return n.Image.Digest()
}

// SecretReference names a Secret in the namespace of the object that carries the reference; references never cross a
// namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
