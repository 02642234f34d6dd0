// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity approves the certificates of hosts' agents.
//
// What enters are CertificateSigningRequests that claim to be of a host, and the host as the API server has it; what leaves
// is an approval or a denial with its reason, and an Event on the host. Signing is kube-controller-manager's. Requests of
// anybody else are left alone. The package must not know keys, orders' secrets or how a host boots: that an order was
// carried out is for it a fact of the host's status, and that the netboot server asks is the user name of the requester.
package identity
