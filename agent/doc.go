// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent runs on a host: it takes the host's wish from the management cluster, brings the host there by a driver, and
// reports what is.
//
// What enters are the files that the installer left (etc/repave/agent.json), the spec of the host's RepaveHost, and a Driver.
// What leaves are the files of the join, acts of the driver, and the agent's part of the host's status with its Lease. Facts
// and wish become a goal (package goal, pure), the goal's steps are carried out one at a time (package step), and what must
// not be repeated is in a journal (package journal) before it is done.
//
// The package must not know the controllers, BMCs or netboot: it meets them in the API only. It keeps no global state; a process
// may run any number of agents, each on its own root.
package agent
