// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/term"
)

// screen shows the story: on a terminal a table that updates in place below what was said, elsewhere a line for each change.
type screen struct {
	mu       sync.Mutex
	out      *os.File
	terminal bool
	started  time.Time
	drawn    int               // lines of the table that stand on the terminal now
	last     map[string]string // the rows shown last
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, terminal: term.IsTerminal(int(out.Fd())), started: time.Now(), last: map[string]string{}}
}

// say prints a line above the table.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	_, _ = fmt.Fprintf(s.out, "%s %s\n", s.clock(), fmt.Sprintf(format, args...))
}

// chapter prints a heading.
func (s *screen) chapter(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	_, _ = fmt.Fprintf(s.out, "\n== %s\n", title)
}

func (s *screen) clock() string {
	return fmt.Sprintf("%5.1fs", time.Since(s.started).Seconds())
}

// row is one host in the table.
type row struct{ name, phase, machine, node, power, booted, why string }

func (r row) cells() string {
	return strings.Join([]string{r.name, r.phase, dash(r.machine), dash(r.node), dash(r.power), dash(r.booted), r.why}, "\t")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// show brings the table up to date.
func (s *screen) show(rows []row, footer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		s.draw(rows, footer)
		return
	}
	for _, r := range rows {
		s.change(r.name, strings.Join(strings.Fields(strings.ReplaceAll(r.cells(), "\t", "  ")), " "))
	}
	s.change("pool", footer)
}

// change prints a line that differs from the one shown before.
func (s *screen) change(key, line string) {
	if line != "" && s.last[key] != line {
		s.last[key] = line
		_, _ = fmt.Fprintf(s.out, "%s   %s\n", s.clock(), line)
	}
}

func (s *screen) draw(rows []row, footer string) {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "HOST\tPHASE\tMACHINE\tNODE\tPOWER\tBOOTED\tWHY")
	for _, r := range rows {
		_, _ = fmt.Fprintln(table, r.cells())
	}
	_ = table.Flush() // writes to memory
	fmt.Fprintf(&b, "pool: %s\n", footer)
	s.erase()
	_, _ = io.WriteString(s.out, clip(b.String(), s.width()))
	s.drawn = strings.Count(b.String(), "\n")
}

// width of the terminal; wide enough for most where it cannot be asked.
func (s *screen) width() int {
	width, _, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width < 1 {
		return 80
	}
	return width
}

// clip cuts every line to a width, so that each stays one line on the terminal and can be erased again.
func clip(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			lines[i] = string(runes[:width-1]) + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// erase takes the table off the terminal; the caller holds the lock.
func (s *screen) erase() {
	if s.drawn > 0 {
		_, _ = fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// finish leaves the last table standing.
func (s *screen) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = 0
}
