// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is what stands between two columns, as kubectl's tables have it.
const gap = 3

// leastWhy is what the last column keeps on a terminal that is too narrow for the others: a line that wraps tells more than a
// reason that is cut to nothing.
const leastWhy = 24

// none stands for a value that is not there, as in kubectl's tables.
const none = "<none>"

// Table aligns rows under their headings. Widths only grow, so that rows printed later by a watch stay in line.
type Table struct {
	// Width of the terminal in columns, to which the last column is clipped; 0: nothing is clipped.
	Width  int
	widths []int
}

// Lines renders rows, each on a line of its own.
func (t *Table) Lines(rows ...[]string) string {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			if i < len(row)-1 {
				t.widths[i] = max(t.widths[i], utf8.RuneCountInString(shown(cell)))
			}
		}
	}
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(t.line(row))
		text.WriteByte('\n')
	}
	return text.String()
}

func (t *Table) line(row []string) string {
	var line strings.Builder
	column := 0
	for i, cell := range row {
		cell = shown(cell)
		if i == len(row)-1 {
			if t.Width > 0 {
				cell = Clip(cell, max(t.Width-column, leastWhy))
			}
			line.WriteString(cell)
			break
		}
		line.WriteString(cell)
		line.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+gap))
		column += t.widths[i] + gap
	}
	return strings.TrimRight(line.String(), " ")
}

// shown is a cell as it is printed: never empty, and without characters that would break the line or drive the terminal.
// Messages come from BMCs and registries, which are not trusted.
func shown(cell string) string {
	cell = Plain(cell)
	if cell == "" {
		return none
	}
	return cell
}

// Plain puts a text on one line and takes out what would drive a terminal.
func Plain(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text))
}

// Clip cuts a text to a number of columns; the last one tells that something was cut.
func Clip(text string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:columns-1]) + "…"
}
