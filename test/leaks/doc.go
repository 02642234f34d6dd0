// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaks looks for secrets in what a run left behind for people and monitoring to read.
//
// What enters are an admin's client of the management cluster and the folder with logs and kubeconfigs; what leaves is an error
// that names the kind of the secret and the place, never the secret. The package must not know which stories were told: it
// finds the secrets itself, from the Secrets of the cluster and from the orders that hosts remember.
package leaks
