// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the infrastructure API of Repave: hosts, machines, pools and clusters, and every word (condition,
// reason, event, label, annotation) by which its parts and its users speak to each other.
//
// What enters are manifests of people and of Cluster API; what leaves is the same as typed values. The package knows no
// client, no controller and no hardware: it imports API types only.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1alpha1
