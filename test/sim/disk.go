// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// Image is an operating system image on a disk.
type Image struct {
	Ref     string `json:"ref"`
	Digest  string `json:"digest"`
	Version string `json:"version"`
}

// osState is what the bootloader of a disk knows: which image runs, which waits, which to go back to.
type osState struct {
	Booted   *Image `json:"booted,omitempty"`
	Staged   *Image `json:"staged,omitempty"`
	Rollback *Image `json:"rollback,omitempty"`
	Next     string `json:"next,omitempty"` // digest that the next boot tries, once
}

// disk is one disk of a box: a folder that outlives the box.
type disk struct {
	options DiskOptions
	dir     string
}

func (b *Box) disks() []disk {
	var all []disk
	for _, o := range b.options.Disks {
		all = append(all, disk{options: o, dir: filepath.Join(b.options.Dir, o.Serial)})
	}
	return all
}

// root is the root file system that the disk holds.
func (d disk) root() string { return filepath.Join(d.dir, "root") }

// choose finds the one disk that all hints match, as an installer must: none or several is an error, and nothing is written.
func choose(disks []disk, hints orderv1.RootDevice) (disk, error) {
	if hints == (orderv1.RootDevice{}) {
		return disk{}, errors.New("the plan names no root device")
	}
	var found []disk
	for _, d := range disks {
		o := d.options
		if (hints.SerialNumber == "" || hints.SerialNumber == o.Serial) &&
			(hints.WWN == "" || hints.WWN == o.WWN) &&
			(hints.DeviceName == "" || hints.DeviceName == o.Device) &&
			o.SizeGigabytes >= hints.MinSizeGigabytes {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		return disk{}, fmt.Errorf("the root device hints match %d disks of %d", len(found), len(disks))
	}
	return found[0], nil
}

func (d disk) readOS() (osState, error) {
	var state osState
	raw, err := os.ReadFile(filepath.Join(d.dir, "os.json"))
	if err != nil {
		return state, fmt.Errorf("reading the boot sector: %w", err)
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return state, fmt.Errorf("reading the boot sector: %w", err)
	}
	return state, nil
}

// writeOS replaces the state at once: a power cut leaves the old or the new one.
func (d disk) writeOS(state osState) error {
	raw, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encoding the boot sector: %w", err)
	}
	return replaceFile(filepath.Join(d.dir, "os.json"), raw, 0o600)
}

// replaceFile writes beside the file, syncs and renames.
func replaceFile(path string, content []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return os.Rename(temporary.Name(), path)
}

// bootable finds the disk that holds an operating system; the first one wins, as in a boot order.
func (b *Box) bootable() (disk, error) {
	for _, d := range b.disks() {
		if _, err := os.Stat(filepath.Join(d.dir, "os.json")); err == nil {
			return d, nil
		}
	}
	return disk{}, errors.New("no disk holds an operating system")
}
