// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"

	"github.com/prometheus/client_golang/prometheus"
)

// described takes the name, help and labels out of a metric's description. client_golang offers them only as text.
var described = regexp.MustCompile(`fqName: "([^"]+)", help: "((?:[^"\\]|\\.)*)", .*variableLabels: \{([^}]*)\}`)

func writeMetrics(b *bytes.Buffer) error {
	fmt.Fprintln(b, "# Metrics\n\nEvery metric of Repave's own, beside those of controller-runtime and the Go runtime.\n\n| metric | labels | meaning |\n|---|---|---|")
	var rows []string
	for _, collector := range collectors() {
		descs := make(chan *prometheus.Desc, 16)
		go func() { collector.Describe(descs); close(descs) }()
		for desc := range descs {
			m := described.FindStringSubmatch(desc.String())
			if m == nil {
				return fmt.Errorf("reading the description %s", desc)
			}
			if m[2] == "" {
				return fmt.Errorf("metric %s has no help text", m[1])
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], m[3], m[2]))
		}
	}
	sort.Strings(rows)
	for _, row := range rows {
		b.WriteString(row)
	}
	return nil
}
