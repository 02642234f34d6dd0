// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version tells which release this is. What enters is stamped by the linker; it knows nothing else.
package version

// version is stamped at build time by -ldflags "-X …/version.version=v0.1.0".
var version = "v0.0.0-dev"

// String gives the release, for example v0.1.0, or v0.0.0-dev where nothing was stamped.
func String() string { return version }
