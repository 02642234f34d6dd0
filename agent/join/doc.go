// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package join writes the files by which a kubelet joins its cluster.
//
// What enters is the bootstrap data of format Agent (bootstrapv1.AgentJoin) and what is particular to the host: node name and
// provider ID. What leaves are files of the host, in this order:
//
//	the files of the RepaveConfig               at their paths, with their permissions
//	etc/kubernetes/pki/ca.crt                   the CA of the cluster, PEM
//	etc/kubernetes/repave-kubelet.json          Kubelet: nodeName, providerID, nodeLabels, taints; all else derives from it
//	etc/kubernetes/kubelet.d/20-repave.env      the same as flags: REPAVE_KUBELET_ARGS="--hostname-override=… …", for the
//	                                            EnvironmentFile of the kubelet's unit
//	etc/kubernetes/bootstrap-kubelet.conf       a kubeconfig with server, CA and bootstrap token, mode 0600
//
// The bootstrap kubeconfig comes last: a path unit that waits for it starts the kubelet when everything is there. The package
// must not know whether a kubelet runs, nor read what it writes back to decide anything but whether it is there.
package join
