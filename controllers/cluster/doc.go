// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster is the shell of RepaveClusters: it passes on where the control plane is reached and which failure domains the
// hosts of the namespace are in.
//
// What enters are a RepaveCluster, its Cluster and the labels of hosts; what leaves is the status that Cluster API reads. It acts
// on nothing, so it has no hands and no finalizer, and must not know machines.
package cluster
