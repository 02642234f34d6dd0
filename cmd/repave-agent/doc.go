// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Command repave-agent runs on a host and keeps it at what its RepaveHost wishes.
//
// What enters are flags and the files of the host; what leaves are logs on standard error and the exit status. It only puts
// together an agent; all that an agent does is in package agent.
package main
