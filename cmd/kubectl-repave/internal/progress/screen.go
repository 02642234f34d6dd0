// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
)

// Screen shows the latest line of each of several things: in place on a terminal, as one more line on each change elsewhere.
// The zero value with an Out prints lines.
type Screen struct {
	Out io.Writer
	// Fit makes a line fit the terminal; nil where Out is none. A line that wraps could not be drawn over.
	Fit   func(string) string
	names []string
	lines map[string]string
}

// Show shows a line of something. A line that is shown already is not shown again.
func (s *Screen) Show(name, line string) {
	if s.lines == nil {
		s.lines = map[string]string{}
	}
	before, known := s.lines[name]
	if known && before == line {
		return
	}
	s.lines[name] = line
	if s.Fit == nil {
		fmt.Fprintln(s.Out, line)
		return
	}
	if up := len(s.names); up > 0 {
		fmt.Fprintf(s.Out, "\x1b[%dA", up)
	}
	if !known {
		s.names = append(s.names, name)
	}
	for _, n := range s.names {
		fmt.Fprintf(s.Out, "\r\x1b[2K%s\n", s.Fit(s.lines[n]))
	}
}
