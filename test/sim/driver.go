// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/repave-io/cluster-api-provider-repave/agent/step"
)

// driver is the simulated way of changing a host in place: it pulls and verifies real images and keeps the bootloader's state
// on the box's disk. It lives for one boot.
type driver struct {
	box    *Box
	disk   disk
	reboot chan<- struct{} // asks the box for a reset of the operating system

	mu sync.Mutex // the state on disk has one reader or writer at a time
}

func (d *driver) Name() string { return "simulated" }

func (d *driver) Status(context.Context) (step.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state, err := d.disk.readOS()
	if err != nil {
		return step.Status{}, err
	}
	return step.Status{Booted: state.Booted.image(), Staged: state.Staged.image(), Rollback: state.Rollback.image()}, nil
}

func (i *Image) image() *step.Image {
	if i == nil {
		return nil
	}
	return &step.Image{Ref: i.Ref, Digest: i.Digest, Version: i.Version}
}

// Stage pulls every byte of the image, verifies them against the digest, and writes it down as staged.
func (d *driver) Stage(ctx context.Context, image step.Image) error {
	if err := d.box.currentFaults().RefuseStage[image.Digest]; err != nil {
		return err
	}
	if !pause(ctx, d.box.options.StageTime) {
		return ctx.Err()
	}
	version, err := pull(ctx, image.Ref)
	if err != nil {
		return fmt.Errorf("pulling %s: %w", image.Ref, err)
	}
	return d.change(func(state *osState) error {
		state.Staged = &Image{Ref: image.Ref, Digest: image.Digest, Version: version}
		return nil
	})
}

// Boot points the next boot at the staged image and asks for a reset.
func (d *driver) Boot(_ context.Context, digest string) error {
	err := d.change(func(state *osState) error {
		if state.Staged == nil || state.Staged.Digest != digest {
			return fmt.Errorf("the image %s is not staged", digest)
		}
		state.Next = digest
		return nil
	})
	if err == nil {
		d.askReboot()
	}
	return err
}

// RollBack points the next boot at the image before and asks for a reset.
func (d *driver) RollBack(context.Context) error {
	err := d.change(func(state *osState) error {
		if state.Rollback == nil {
			return errors.New("there is no image to go back to")
		}
		state.Staged, state.Rollback = state.Rollback, nil
		state.Next = state.Staged.Digest
		return nil
	})
	if err == nil {
		d.askReboot()
	}
	return err
}

func (d *driver) askReboot() {
	select {
	case d.reboot <- struct{}{}:
	default: // asked for already
	}
}

func (d *driver) change(act func(*osState) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	state, err := d.disk.readOS()
	if err != nil {
		return err
	}
	if err := act(&state); err != nil {
		return err
	}
	return d.disk.writeOS(state)
}

// versionFile is the file of a simulated OS image that names its version.
const versionFile = "usr/lib/os-release"

// pull reads an image whole, which verifies manifest and layers against their digests, and gives the version it names.
func pull(ctx context.Context, ref string) (string, error) {
	parsed, err := name.NewDigest(ref)
	if err != nil {
		return "", fmt.Errorf("%w: %w", step.ErrImageNotFound, err)
	}
	image, err := remote.Image(parsed, remote.WithContext(ctx))
	if err != nil {
		return "", classify(err)
	}
	layers, err := image.Layers()
	if err != nil {
		return "", classify(err)
	}
	version := ""
	for _, layer := range layers {
		found, err := readLayer(layer)
		if err != nil {
			return "", classify(err)
		}
		if found != "" {
			version = found
		}
	}
	return version, nil
}

// readLayer reads a layer to its last byte before it looks into it: damaged bytes are told by their digest, not by what an
// archive reader makes of them.
func readLayer(layer v1.Layer) (version string, err error) {
	stream, err := layer.Compressed()
	if err != nil {
		return "", fmt.Errorf("opening a layer: %w", err)
	}
	packed, err := io.ReadAll(stream)
	if err = errors.Join(err, stream.Close()); err != nil {
		return "", fmt.Errorf("reading a layer: %w", err)
	}
	content, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("unpacking a layer: %w", err)
	}
	entries := tar.NewReader(content)
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return version, nil
		}
		if err != nil {
			return "", fmt.Errorf("unpacking a layer: %w", err)
		}
		if path.Clean(header.Name) == versionFile {
			version = readOSRelease(entries)
		}
	}
}

func readOSRelease(r io.Reader) string {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "VERSION_ID="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

func classify(err error) error {
	var answer *transport.Error
	switch {
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w: %w", step.ErrImageNotFound, err)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%w: %w", step.ErrUnauthorized, err)
	case strings.Contains(err.Error(), "sha256"): // the library's word for bytes that do not match
		return fmt.Errorf("%w: %w", step.ErrDigestMismatch, err)
	}
	return err
}
