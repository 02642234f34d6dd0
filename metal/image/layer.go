// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	copyBuffer = 1 << 20
	// entryOverhead bounds what a tar may hold beside the content of its files, per entry allowed: its header, padding
	// and extended headers.
	entryOverhead = 8 << 10
	fileMode      = 0o600
)

// unpackers are the layers there are and how to get at their tar.
var unpackers = map[types.MediaType]func(io.Reader) (io.Reader, error){
	types.OCILayer:                gunzip,
	types.DockerLayer:             gunzip,
	types.OCIUncompressedLayer:    plain,
	types.DockerUncompressedLayer: plain,
}

func plain(r io.Reader) (io.Reader, error)  { return r, nil }
func gunzip(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }

// unpacker writes the files of one image's layers, each named by its checksum, into one directory.
type unpacker struct {
	root   *os.Root
	tree   *tree
	opts   *Options
	buffer []byte

	layer   int
	entries int
	// written and streamed count against MaxImageBytes: what files hold, and what layers hold after decompression.
	written  int64
	streamed int64
}

func newUnpacker(root *os.Root, opts *Options) *unpacker {
	return &unpacker{root: root, tree: newTree(), opts: opts, buffer: make([]byte, copyBuffer)}
}

// apply unpacks the next layer over those before it.
func (u *unpacker) apply(mediaType types.MediaType, r io.Reader) error {
	defer func() { u.layer++ }()
	stream, err := unpackers[mediaType](r)
	if err != nil {
		return failure(BadLayout, "a layer cannot be decompressed")
	}
	limited := &limitedReader{r: stream, u: u}
	archive := tar.NewReader(limited)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return broken(err)
		}
		if err := u.entry(header, archive); err != nil {
			return err
		}
	}
	// What follows the end mark is nothing, but has to be decompressed for its checksum.
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, limited, u.buffer); err != nil {
		return broken(err)
	}
	return nil
}

// broken reports a stream that is no tar, unless its reader gave the reason itself.
func broken(err error) error {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed
	}
	return failure(BadLayout, "a layer is not a whole tar archive")
}

func (u *unpacker) entry(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if u.entries++; u.entries > u.opts.MaxEntries {
		return failure(TooLarge, "the layers have more than %d entries", u.opts.MaxEntries)
	}
	name, err := entryPath(header.Name)
	if err != nil {
		return err
	}
	if base := path.Base(name); strings.HasPrefix(base, whiteout) {
		if !u.tree.whiteout(path.Dir(name), base, u.layer) {
			return failure(BadLayout, "entry %q is not a known whiteout", name)
		}
		return nil
	}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(name, header.Size, content)
	case tar.TypeLink:
		return u.link(name, header.Linkname)
	case tar.TypeDir:
		if name != "." {
			u.tree.mkdir(name)
		}
		return nil
	case tar.TypeSymlink:
		return failure(BadLayout, "entry %q is a symbolic link; netboot images hold files only", name)
	default:
		return failure(BadLayout, "entry %q is a device or of an unknown type; netboot images hold files only", name)
	}
}

// entryPath accepts what archivers write (./a, a/) and refuses what leads out of the image.
func entryPath(name string) (string, error) {
	clean := strings.TrimPrefix(strings.TrimSuffix(name, "/"), "./")
	if clean == "" || clean == "." {
		return ".", nil
	}
	if err := validPath(clean); err != nil {
		return "", failure(BadLayout, "entry %.80q %v", name, err)
	}
	return clean, nil
}

// link gives a file a second name.
func (u *unpacker) link(name, target string) error {
	target, err := entryPath(target)
	if err != nil {
		return err
	}
	linked, ok := u.tree.files[target]
	if !ok {
		return failure(BadLayout, "entry %q is a hard link to %q, which is not there", name, target)
	}
	if name == "." {
		return failure(BadLayout, "an entry has no name")
	}
	linked.file.Path = name
	u.tree.put(linked.file, u.layer)
	return nil
}

// file writes one file and names it by what it turned out to hold.
func (u *unpacker) file(name string, size int64, content io.Reader) error {
	if name == "." {
		return failure(BadLayout, "an entry has no name")
	}
	// The size comes from the header: a sparse file of a few bytes may claim to be endless.
	if size > u.opts.MaxImageBytes-u.written {
		return failure(TooLarge, "the files have more than %d bytes", u.opts.MaxImageBytes)
	}
	u.written += size
	partial := fmt.Sprintf("partial-%d", u.entries)
	sum, err := u.write(partial, content)
	if err != nil {
		return err
	}
	if err := u.root.Rename(partial, sum); err != nil {
		return storage("naming a file", err)
	}
	u.tree.put(File{Path: name, Size: size, SHA256: sum}, u.layer)
	return nil
}

// write streams content into a new file, down to the disk, and returns its checksum.
func (u *unpacker) write(as string, content io.Reader) (_ string, reterr error) {
	f, err := u.root.OpenFile(as, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return "", storage("creating a file", err)
	}
	defer func() {
		if err := f.Close(); err != nil && reterr == nil {
			reterr = storage("closing a file", err)
		}
	}()
	sum := sha256.New()
	to := &diskWriter{f: f}
	if _, err := io.CopyBuffer(io.MultiWriter(to, sum), content, u.buffer); err != nil {
		if to.err != nil {
			return "", storage("writing a file", to.err)
		}
		return "", broken(err)
	}
	if err := f.Sync(); err != nil {
		return "", storage("syncing a file", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// diskWriter remembers that it was the disk that failed, not the reader it is copied from.
type diskWriter struct {
	f   *os.File
	err error
}

// Write implements io.Writer.
func (w *diskWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.err = err
	return n, err
}

// limitedReader stops a stream that decompresses to more than an image may have.
type limitedReader struct {
	r io.Reader
	u *unpacker
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.u.streamed += int64(n)
	if l.u.streamed-l.u.opts.MaxImageBytes > int64(l.u.opts.MaxEntries)*entryOverhead {
		return 0, failure(TooLarge, "the layers unpack to more than %d bytes", l.u.opts.MaxImageBytes)
	}
	return n, err
}
