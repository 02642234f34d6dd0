// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane holds no code of its own: it is the Go module that pins the real programs Repave is tried against
// (etcd, kube-apiserver, kube-controller-manager, kubectl, the Cluster API core manager, clusterctl, kustomize). What
// enters are checksummed module sources; what leaves are the binaries in bin/, built by build.mk. Nothing of Repave is
// imported here, and nothing here is imported by Repave.
package controlplane
