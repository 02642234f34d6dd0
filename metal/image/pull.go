// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// publishTries bounds how often a pull competes with another process over the place of its image.
const publishTries = 3

// pull fetches, verifies and publishes an image.
func (s *Store) pull(ctx context.Context, f *flight) (Image, error) {
	ref := f.request.ref
	// Another process may have been faster while this one waited for its turn.
	if image, ok := s.Lookup(ref.Digest); ok {
		return image, nil
	}
	src, err := connect(ctx, ref, f.request.creds, &s.opts)
	if err != nil {
		return Image{}, err
	}
	layers, err := src.layers(ctx)
	if err != nil {
		return Image{}, err
	}
	f.total.Store(sizeOf(layers))

	work, err := os.MkdirTemp(filepath.Join(s.dir, workDir), "pull-")
	if err != nil {
		return Image{}, storage("creating a work directory", err)
	}
	// After publishing there is nothing left to remove; a failure to is swept later.
	defer func() { _ = os.RemoveAll(work) }()
	m, err := s.unpack(ctx, src, layers, work, f)
	if err != nil {
		return Image{}, err
	}
	if err := writeMark(work, m); err != nil {
		return Image{}, err
	}
	return s.publish(work, ref.Digest)
}

func sizeOf(layers []v1.Descriptor) int64 {
	var total int64
	for _, layer := range layers {
		total += layer.Size
	}
	return total
}

// unpack brings all layers into work and says what they hold.
func (s *Store) unpack(ctx context.Context, src *source, layers []v1.Descriptor, work string, f *flight) (mark, error) {
	content := filepath.Join(work, filesDir)
	if err := os.Mkdir(content, dirMode); err != nil {
		return mark{}, storage("creating a work directory", err)
	}
	root, err := os.OpenRoot(content)
	if err != nil {
		return mark{}, storage("opening a work directory", err)
	}
	defer func() { _ = root.Close() }()
	u := newUnpacker(root, &s.opts)
	for _, layer := range layers {
		if err := u.fetch(ctx, src, layer, f); err != nil {
			return mark{}, err
		}
	}
	files, err := u.finish()
	if err != nil {
		return mark{}, err
	}
	metadata, err := describe(files, root)
	if err != nil {
		return mark{}, err
	}
	list := slices.SortedFunc(maps.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return mark{Version: markVersion, Digest: f.request.ref.Digest, Files: list, Metadata: metadata}, nil
}

// fetch unpacks one layer while it is transferred. What it unpacked counts only when the digest was right, and a
// wrong digest explains whatever was wrong with the content.
func (u *unpacker) fetch(ctx context.Context, src *source, layer v1.Descriptor, f *flight) error {
	b := src.blob(ctx, layer, func(n int64) { f.received.Add(n) })
	defer b.close()
	err := u.apply(layer.MediaType, b)
	if b.failed != nil {
		return b.failed
	}
	if kind := KindOf(err); kind == TooLarge || kind == Storage {
		return err
	}
	if mismatch := b.verify(); mismatch != nil {
		return mismatch
	}
	return err
}

// finish drops content that no path shows any more and returns what is left.
func (u *unpacker) finish() (map[string]File, error) {
	files := make(map[string]File, len(u.tree.files))
	shown := make(map[string]bool, len(u.tree.files))
	for path, n := range u.tree.files {
		files[path] = n.file
		shown[n.file.SHA256] = true
	}
	dir, err := u.root.Open(".")
	if err != nil {
		return nil, storage("listing files", err)
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, storage("listing files", err)
	}
	for _, name := range names {
		if shown[name] {
			continue
		}
		if err := u.root.Remove(name); err != nil {
			return nil, storage("removing a covered file", err)
		}
	}
	return files, nil
}

// publish moves a complete work directory to its place in one step. What is in that place already is either the same
// image, from another process, or a ruin, which makes room.
func (s *Store) publish(work, digest string) (Image, error) {
	place, _ := s.imageDir(digest)
	for range publishTries {
		err := os.Rename(work, place)
		if err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) && !errors.Is(err, syscall.ENOTDIR) {
			return Image{}, storage("publishing the image", err)
		}
		if image, ok := readImage(place, digest); ok {
			return image, syncDir(filepath.Dir(place))
		}
		if err := os.Rename(place, work+"-ruin"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Image{}, storage("making room for the image", err)
		}
		if err := os.RemoveAll(work + "-ruin"); err != nil {
			return Image{}, storage("making room for the image", err)
		}
	}
	return Image{}, failure(Storage, "another process keeps damaging the image")
}
