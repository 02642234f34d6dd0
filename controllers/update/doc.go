// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package update takes one machine through an in-place repave: stage, drain, boot, verify, and uncordon or roll back.
//
// What enters is a View: the wish, the slot, what was saved of the way so far, and facts about host, Node and drain. What leaves
// is a Step: the progress to save, one Effect to perform after it is saved, and the reason to show. It must not know how a host
// is asked, a Node is cordoned or a pool grants slots; and it reads no clock: Now is part of the View.
package update
