// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host is the agent's one door to its host's files and programs.
//
// What enters are paths below the root of the host; what leaves are bytes. Everything goes through an os.Root, so that no
// path and no symbolic link leads out of the root, and a test is a host in a temporary directory. The package must not know
// what the files mean.
//
// Symbolic links with an absolute target count as leading out, as they would on a root mounted elsewhere. None of the agent's
// own paths runs through such a link on the images that Repave knows.
package host
