// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docs writes the tables of docs/reference from the code that they describe: condition types, reasons, events,
// labels and annotations from the comments in the API package, metrics from the collectors themselves, and state diagrams
// from the tables of the pure rooms. `make verify` fails when a page differs from what this command writes.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("docs/reference"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the pages: %w", err)
	}
	for _, page := range []struct {
		name  string
		write func(*bytes.Buffer) error
	}{
		{"conditions.md", writeConditions},
		{"events.md", writeEvents},
		{"labels.md", writeLabels},
		{"metrics.md", writeMetrics},
		{"states.md", writeStates},
	} {
		var b bytes.Buffer
		if err := page.write(&b); err != nil {
			return fmt.Errorf("writing %s: %w", page.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, page.name), b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", page.name, err)
		}
	}
	return nil
}
