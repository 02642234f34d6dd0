// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view turns hosts, machines and pools into the text that kubectl repave prints.
//
// What enters are API objects, the time and the width of the terminal; what leaves is text. It must not know where objects
// come from or where the text goes. No Secret is ever read for it: what it shows are names of Secrets at most.
package view
