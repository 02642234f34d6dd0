// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

func writeStates(b *bytes.Buffer) error {
	fmt.Fprintln(b, "# States\n\nDrawn from the tables of the pure rooms that decide.")
	for _, d := range []struct{ title, text, diagram string }{
		{"Operation of a host", "The steps of a reboot or repave, each saved before it is acted on (`metal/lifecycle`).", lifecycle.Diagram()},
		{"In-place repave of a machine", "The steps from an image that is wished for to one that is proven (`controllers/update`).", update.Diagram()},
	} {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n```mermaid\n%s```\n", d.title, d.text, d.diagram)
	}
	return nil
}
