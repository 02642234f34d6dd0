// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Host is a host's file system, seen from its root.
type Host struct {
	root *os.Root
}

// Open opens the host whose root directory is named.
func Open(root string) (*Host, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("opening host root: %w", err)
	}
	return &Host{root: r}, nil
}

// Close ends the use of the host.
func (h *Host) Close() error { return h.root.Close() }

// ReadFile reads a whole file. The error is fs.ErrNotExist where there is none.
func (h *Host) ReadFile(name string) ([]byte, error) { return h.root.ReadFile(inside(name)) }

// Exists says whether a file is there.
func (h *Host) Exists(name string) bool {
	_, err := h.root.Stat(inside(name))
	return err == nil
}

// WriteFile replaces a file as one act: after a crash at any point there is the old content or the new, never a part. The
// folder is made where it is missing. A file that has content and mode already is not touched.
func (h *Host) WriteFile(name string, content []byte, mode fs.FileMode) error {
	name = inside(name)
	if h.holds(name, content, mode) {
		return nil
	}
	dir := path.Dir(name)
	if err := h.root.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making folder of %s: %w", name, err)
	}
	temporary := path.Join(dir, "."+path.Base(name)+"."+rand.Text())
	if err := h.writeSynced(temporary, content, mode); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", name, err), h.Remove(temporary))
	}
	if err := h.root.Rename(temporary, name); err != nil {
		return errors.Join(fmt.Errorf("replacing %s: %w", name, err), h.Remove(temporary))
	}
	return h.syncFolder(dir)
}

// Rename moves a file within the host.
func (h *Host) Rename(from, to string) error {
	if err := h.root.Rename(inside(from), inside(to)); err != nil {
		return err
	}
	return h.syncFolder(path.Dir(inside(to)))
}

// Remove removes a file; one that is not there is removed already.
func (h *Host) Remove(name string) error {
	if err := h.root.Remove(inside(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Run runs a program of the host and returns its standard output. The program is looked for in the host's own folders, so that
// a test brings its own. The error holds the last line of standard error, never the arguments: they may be secret.
func (h *Host) Run(ctx context.Context, program string, args ...string) ([]byte, error) {
	for _, dir := range []string{"usr/local/bin", "usr/bin", "usr/sbin", "bin", "sbin"} {
		if !h.Exists(path.Join(dir, program)) {
			continue
		}
		command := exec.CommandContext(ctx, filepath.Join(h.root.Name(), dir, program), args...)
		command.Dir = h.root.Name()
		var complaint bytes.Buffer
		command.Stderr = &complaint
		out, err := command.Output()
		if err != nil {
			return out, fmt.Errorf("running %s: %w: %s", program, err, lastLine(complaint.String()))
		}
		return out, nil
	}
	return nil, fmt.Errorf("running %s: %w", program, exec.ErrNotFound)
}

func (h *Host) holds(name string, content []byte, mode fs.FileMode) bool {
	info, err := h.root.Stat(name)
	if err != nil || info.Mode() != mode || info.Size() != int64(len(content)) {
		return false
	}
	present, err := h.root.ReadFile(name)
	return err == nil && bytes.Equal(present, content)
}

func (h *Host) writeSynced(name string, content []byte, mode fs.FileMode) (reterr error) {
	file, err := h.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { reterr = errors.Join(reterr, file.Close()) }()
	// The umask has no say in who may read a key.
	if err := file.Chmod(mode); err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.Sync()
}

// syncFolder makes a rename last: without it a power cut may bring the old file back.
func (h *Host) syncFolder(dir string) error {
	folder, err := h.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// inside turns a path of the host into one relative to its root.
func inside(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
