// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools holds no code: it is the Go module that pins the generators and analysers of the Makefile.
package tools
