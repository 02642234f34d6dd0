// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AgentJoinVersion is the version that every AgentJoin carries.
const AgentJoinVersion = "repave.io/join/v1alpha1"

// SecretKey is the key of the bootstrap data in its Secret, and SecretFormatKey that of its format (Cluster API contract).
const (
	SecretKey       = "value"
	SecretFormatKey = "format"
)

// AgentJoin is the bootstrap data of format Agent: JSON under the key "value" of the data Secret. It holds nothing that is
// particular to one host; node name and provider ID are filled in on the host.
// +kubebuilder:object:generate=false
type AgentJoin struct {
	Version string `json:"version"` // AgentJoinVersion
	Cluster struct {
		Name   string `json:"name"`
		Server string `json:"server"` // URL of the API server
		CA     []byte `json:"ca"`     // PEM
	} `json:"cluster"`
	// Token is a bootstrap token of the workload cluster, id.secret: the kubelet asks for its certificate with it.
	Token      string            `json:"token"`
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	Taints     []corev1.Taint    `json:"taints,omitempty"`
	Files      []File            `json:"files,omitempty"`
}
