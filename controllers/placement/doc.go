// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement says which host serves a machine.
//
// What enters is a View: the machine's wishes and facts about every host of its namespace, perhaps out of date. What leaves is
// a Decision: a host, or the reason why there is none. It must not know how a claim is written: that two machines never get one
// host is the compare-and-swap's doing, so a stale View costs a retry and never a double claim.
package placement
