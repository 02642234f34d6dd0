// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain is the Machine controller's hands in a workload cluster: it finds Nodes, cordons and uncordons them, and moves
// pods away in the background.
//
// What enters are names of clusters, Nodes and machines; what leaves are facts about Nodes and about the progress of drains, and
// a wake for the machine when that changes. It must not know what a drain is for, nor when a cordon is due; it only remembers,
// on the Node itself, whose cordon it is.
package drain
