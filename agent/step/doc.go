// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package step carries out what the goal decided.
//
// What enters are goal.Steps; what leaves are acts of a driver and of the join, and what the journal says of them. Each step
// first asks whether it is done already, then notes its intent, acts, and notes the outcome, so that a kill at any point
// resumes without repeating what must not be repeated. The package must not know the API, nor how a driver does what it does.
package step
