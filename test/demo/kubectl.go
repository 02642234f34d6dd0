// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// kubectl runs the real kubectl as a person would.
func (r *rig) kubectl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join("bin", "kubectl"), append([]string{"--kubeconfig", r.controlPlane.Kubeconfig(), "--namespace", namespace}, args...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running kubectl %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return nil
}

func (r *rig) kubectlPatch(ctx context.Context, kind, name, patch string) error {
	return r.kubectl(ctx, "patch", kind, name, "--type", "merge", "--patch", patch)
}
