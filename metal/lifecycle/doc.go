// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle decides what a host does next, and what a booting host gets.
//
// What enters is a View: the host's record, what people and the claiming machine want, and the last that was seen of BMC,
// agent and netboot server. What leaves is a Step: what to tell people, the record to save, and at most one act. The package
// knows no client, clock, random source or log, and it never sees a secret.
//
// The rule that makes crashes harmless: a Step that changes the record carries no act. The shell saves the record; the next
// look, which may be another process's, sees it saved and acts. Acts on the power ask for a state that the last reading did
// not show, so repeating one after a crash does nothing a second time; within one process the ID of a command, made of
// operation, attempt, step and try, keeps it from being carried out twice.
package lifecycle
