// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repave-io/cluster-api-provider-repave/agent/host"
)

func open(t *testing.T) (*host.Host, string) {
	t.Helper()
	dir := t.TempDir()
	h, err := host.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, dir
}

func TestWriteFileReplacesAsAWhole(t *testing.T) {
	h, dir := open(t)
	for _, content := range []string{"one", "two", "two"} {
		if err := h.WriteFile("/etc/repave/x", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := h.ReadFile("etc/repave/x")
		if err != nil || string(got) != content {
			t.Errorf("read %q, %v", got, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "etc/repave"))
	if err != nil || len(entries) != 1 {
		t.Errorf("leftovers: %v, %v", entries, err)
	}
	info, err := os.Stat(filepath.Join(dir, "etc/repave/x"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteFileLeavesWhatIsRightAlone(t *testing.T) {
	h, dir := open(t)
	name := filepath.Join(dir, "x")
	inode := func() fs.FileInfo {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	write := func(mode fs.FileMode) {
		if err := h.WriteFile("x", []byte("same"), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(0o600)
	before := inode()
	write(0o600)
	if !os.SameFile(before, inode()) {
		t.Error("an unchanged file was written again")
	}
	write(0o640)
	if os.SameFile(before, inode()) || inode().Mode() != 0o640 {
		t.Error("another mode must be taken over")
	}
}

func TestNothingLeadsOutOfTheRoot(t *testing.T) {
	h, dir := open(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ReadFile("link/secret"); err == nil {
		t.Error("read through a link out of the root")
	}
	if err := h.WriteFile("link/new", []byte("x"), 0o600); err == nil {
		t.Error("wrote through a link out of the root")
	}
	if err := h.WriteFile("../../up", []byte("x"), 0o600); err != nil || !h.Exists("up") {
		t.Errorf("dots must end at the root: %v", err)
	}
	if _, err := h.ReadFile("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := h.Remove("missing"); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
}

func TestRunTakesTheProgramsOfTheHost(t *testing.T) {
	h, _ := open(t)
	script := "#!/bin/sh\nif [ \"$1\" = fail ]; then echo first >&2; echo no space >&2; exit 3; fi\necho \"$1\"; pwd\n"
	if err := h.WriteFile("usr/bin/tool", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := h.Run(t.Context(), "tool", "hello")
	if err != nil || !strings.HasPrefix(string(out), "hello\n") {
		t.Errorf("got %q, %v", out, err)
	}
	_, err = h.Run(t.Context(), "tool", "fail", "token-1234")
	if err == nil || !strings.HasSuffix(err.Error(), "no space") || strings.Contains(err.Error(), "token-1234") {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), "ls"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that only the test's machine has: %v", err)
	}
}
