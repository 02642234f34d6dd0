// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package order derives the one-time secrets of an order: the token in the URLs that a host boots from, and the credential
// by which its installed agent asks for its first certificate.
//
// What enters is the site's key, the UID of a host and the ID of an order; what leaves are strings, the same ones at every
// call. So nothing secret is stored, and a controller and a netboot server that never talk to each other, or that were
// restarted in between, agree. The package knows no client, no server and no operation: whether an order is still good is
// the question of others.
package order
