// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package goal decides what the agent of a host does next: facts, wish and memory in, ordered step values out.
//
// What enters is a View: the images of the host as its driver sees them, what the host's spec wishes, and the memory of what
// was tried before. What leaves is a Goal: the steps that are missing, in order, what the agent is at, and the failure that
// stands in the way. The package is pure: it must not know a driver, a file, the API, a clock or a log.
//
// An image that failed under a wish is not tried again under that wish. Another image is another wish, and so is a boot that
// was taken back and is wished for again.
package goal
