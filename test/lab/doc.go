// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lab starts and stops a real control plane on this machine: etcd, kube-apiserver, optionally
// kube-controller-manager, the Cluster API core manager, and whatever further processes a story needs. Stories, the demo
// and end-to-end runs share it.
//
// What enters are the binaries that `make controlplane` leaves in bin/ and manifests. What leaves is an admin connection
// to an API server that behaves as in production (RBAC, admission, CSR signing, service account tokens), and the promise
// that no process outlives the lab, however its parent ends. Everything but Cluster API's webhook port listens on
// 127.0.0.1 only.
//
// It must not know Repave's own kinds or controllers: those come in as manifests and binaries. Linux only.
package lab
