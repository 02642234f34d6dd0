// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the bootstrap API of Repave: how a host joins its cluster.
//
// What enters are RepaveConfigs; what leaves is the same as typed values and AgentJoin, the rendered data that agents read.
// The package knows no controller, and nothing of the infrastructure API: the two meet only in the Cluster API contract.
//
// +kubebuilder:object:generate=true
// +groupName=bootstrap.cluster.x-k8s.io
package v1alpha1
