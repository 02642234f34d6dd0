// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout says what a pool does next: which members get the wanted image, a slot, or a successor, and what to tell people.
//
// What enters is a View: the wishes of the pool and facts about every member, perhaps out of date. What leaves is a Step: names and
// numbers, counts, a reason and a message. Equal views give equal steps, whatever the order of the members. It must not know how
// a slot is written or a member is deleted. On a stale View the budget holds for what the View showed: whoever grants slots,
// creates or deletes must plan those on a View that was read after its own last write.
package rollout
