// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	directoryPrefix = "repave-lab-"
	lockFile        = "lock"
	// settleTime protects a directory that another lab has just made and not locked yet.
	settleTime = time.Minute
)

// directory is a lab's place on disk, locked for as long as the lab lives.
type directory struct {
	path      string
	temporary bool
	lock      *os.File
}

// openDirectory makes and locks path, or a temporary directory when path is empty. A temporary one first clears away what
// labs of killed parents left behind: their lock is free, because the kernel dropped it with them.
func openDirectory(path string) (*directory, error) {
	d := &directory{path: path}
	if path == "" {
		sweep(os.TempDir(), time.Now().Add(-settleTime))
		made, err := os.MkdirTemp("", directoryPrefix)
		if err != nil {
			return nil, fmt.Errorf("making lab directory: %w", err)
		}
		d.path, d.temporary = made, true
	}
	for _, sub := range []string{"", "pki", "log"} {
		if err := os.MkdirAll(filepath.Join(d.path, sub), 0o700); err != nil {
			return nil, fmt.Errorf("making lab directory: %w", err)
		}
	}
	absolute, err := filepath.Abs(d.path)
	if err != nil {
		return nil, fmt.Errorf("making lab directory: %w", err)
	}
	d.path = absolute
	if d.lock, err = lock(d.path); err != nil {
		return nil, fmt.Errorf("locking lab directory %s: %w", d.path, err)
	}
	return d, nil
}

// close gives the directory back: removed when temporary, otherwise unlocked for the next lab.
func (d *directory) close() error {
	var err error
	if d.temporary {
		err = os.RemoveAll(d.path)
	}
	return errors.Join(err, d.lock.Close())
}

func (d *directory) join(elements ...string) string {
	return filepath.Join(append([]string{d.path}, elements...)...)
}

// lock takes the directory's lock, or says at once that a living lab has it.
func lock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// sweep removes lab directories in parent that nobody holds and that were made before the given time. It is best effort:
// what cannot be read or removed belongs to somebody else.
func sweep(parent string, before time.Time) {
	found, err := filepath.Glob(filepath.Join(parent, directoryPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.ModTime().After(before) {
			continue
		}
		if file, err := lock(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = file.Close()
		}
	}
}
