// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render makes bootstrap data: what a host needs to know to join its cluster.
//
// What enters are the spec of a RepaveConfig, facts about the cluster and a join token; what leaves are bytes, the same for the same
// input. It must not know where the facts come from or where the bytes go, and puts nothing into them that is particular to one
// host: one config serves all machines of a pool.
package render
