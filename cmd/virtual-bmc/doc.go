// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Command virtual-bmc runs a fleet of virtual Redfish BMCs, each with a server behind it that is only a power state.
//
// What enters: flags, Redfish requests, and faults over an admin address. What leaves: the addresses and fingerprints of
// the BMCs on standard output. It is for trying out a Redfish client without hardware, ours or another; it must not know
// ours, nor Kubernetes.
package main
