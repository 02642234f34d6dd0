// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report says in the management cluster what the agent sees: its part of the host's status, and its Lease.
//
// What enters are facts and the goal; what leaves are server-side applies, only when something differs from what is there, and
// renewals of the Lease. The package must not decide anything, and nothing depends on its success.
package report
