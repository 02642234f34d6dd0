// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress judges how far a counter that was raised has come, and shows it on a terminal or in lines.
//
// What enters are the host or pool as last seen and what was asked; what leaves is a line for people and a verdict. It must
// not know where objects come from, and decides by the acknowledged counter and the saved operation, never by a phase.
package progress
