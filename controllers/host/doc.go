// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host is the shell around metal/lifecycle: it reconciles RepaveHosts.
//
// What enters are the host, the last reading of its BMC, its agent's Lease and the Secret of its BMC. What leaves is the host's
// record, its status, commands to its BMC, and what lets its agent in: a Lease, a Role and a RoleBinding. The package decides
// nothing about power or installs, never waits for a BMC, and must not know Redfish, orders' secrets or the netboot server.
package host
