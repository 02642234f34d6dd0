// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tells the stories of what goes wrong: bad input, faults of BMCs, registries and power, and processes that are
// killed. They are Go tests on the real thing: kube-apiserver, kube-controller-manager and the core manager of Cluster API, the
// three roles of bin/repave as processes with the permissions of a release, and simulated servers behind real Redfish.
//
// What enters are the binaries in bin/ and the working tree, of which bin/repave is built first; what leaves are verdicts. A
// story asks as a person would, then holds against each other what the person sees (the reason of a condition), what was done
// (the journals of servers and BMCs, which nobody can talk out of anything), and how things recover when the cause is mended.
// It must not call a controller or change what only a controller writes.
//
// All stories share one control plane. Each has a namespace, a registry and servers of its own.
package e2e
