// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the agent's memory over kills, reboots and power cuts.
//
// What enters and leaves is a goal.Memory, in one JSON file with a checksum that is replaced as a whole. A file that cannot be
// understood is kept aside for a person to look at, and the memory starts over as one that was lost: the goal boots nothing on
// what it does not know. The package must not know what the memory means.
package journal
