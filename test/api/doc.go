// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api tests the custom resources of Repave on a real API server: what is refused and with which words, what is
// defaulted, who owns which part of a status, and what kubectl shows.
//
// What enters are the CRDs and manifests of config/. It knows the API types, and no controller.
package api
