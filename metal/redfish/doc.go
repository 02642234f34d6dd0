// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redfish talks to the BMCs of servers: power, one-time boot source and identity, by Redfish (DSP0266).
//
// What enters: an Endpoint (address, account, trust) and Commands. What leaves: Readings, which are only ever what a BMC
// was last seen to say, and one Error type with a Class to choose by. Client is one BMC, synchronous; Actors gives every
// BMC a goroutine of its own, so that a caller never waits for one and a dead BMC delays no other.
//
// The types a BMC's bytes are decoded into are gofish's; the transport is our own, because deadlines per request, a
// limit on what is read, pins, one login at a time and the promise to send a reset at most once are not to be had there.
//
// It must not know Kubernetes, hosts, machines or why a reset is wanted, and it repeats nothing on its own that changes
// a server: the caller names each act with an ID and decides about another attempt.
package redfish
