// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool keeps the machines of a RepaveMachinePool: as many as the MachinePool wants, all at the template, updated within
// the budget.
//
// What enters are a RepaveMachinePool, its MachinePool, and the RepaveMachines and Machines that carry its labels; what leaves are
// RepaveMachines that are created and patched, Machines that are deleted, and the status of the pool. What is done next is
// rollout.Plan's to say. The package must not know hosts, BMCs or Nodes: what it needs of them is in the status of its machines.
package pool
