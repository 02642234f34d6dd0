// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestLinesStayWithinTheTerminal(t *testing.T) {
	g := NewWithT(t)
	g.Expect(clip("short\nexactly8\nnine long\n", 8)).To(Equal("short\nexactly8\nnine lo…\n"))
	g.Expect(clip("ü…ü…", 3)).To(Equal("ü…" + "…"))
}
