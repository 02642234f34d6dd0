// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine is the shell of RepaveMachines: it claims a host for each, asks that host for what the machine wants, takes
// the machine through in-place repaves, and releases the host in the end.
//
// What enters are RepaveMachines with their owners, the hosts of their namespace and facts about their Nodes; what leaves are
// claims and wishes on hosts, cordons and drains, and the status that Cluster API reads. Which host is placement's to say, and
// what comes next in a repave update's; the shell must not know BMCs, netboot or agents.
package machine
