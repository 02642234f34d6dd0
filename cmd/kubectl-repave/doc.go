// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-repave is the kubectl plugin of Repave: it shows hosts and pools with why they are as they are, and asks for
// reboots and repaves.
//
// What enters are flags and a kubeconfig; what leaves are text, an exit status, and raised counters in spec.operations, which
// is all that it ever writes. It talks to the API server only, reads no Secret, and knows neither BMCs nor agents.
package main
