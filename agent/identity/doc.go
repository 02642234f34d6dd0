// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity keeps the host's certificate in the management cluster: the first one by the credential of an order, the
// next ones by the one before.
//
// What enters is an order's one-time credential, or an API that takes certificate requests; what leaves is a certificate with
// its key, kept in one file below etc/repave/pki that only root may read. Each request's key is saved before it is sent, so
// that a killed agent asks again for the same certificate. Keys never leave the host. The package must not know what the
// certificate is used for.
package identity
