// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package virtual is a lifelike Redfish service over real HTTPS, with a Machine of the caller's choice behind it.
//
// What enters: HTTP requests of a Redfish client, and faults switched on by a test or a person. What leaves: power and
// boot orders to the Machine, answers shaped as DSP0266 asks (annotations, sessions, message registries' error bodies),
// and a journal of every reset and request, so that a test counts what the BMC saw instead of what a client claims.
//
// It must not know the client it is tested with (package redfish), nor anything of Kubernetes or of hosts: it is judged
// by independent clients, and a mistake shared with our own client would hide in both.
package virtual
