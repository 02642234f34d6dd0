// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	markName    = ".complete"
	markVersion = 1
	filesDir    = "files"
)

// Image is a complete, verified image on the local disk.
type Image struct {
	// Digest the image was asked for by: of its manifest or of an index.
	Digest string
	// Files by their path inside the image.
	Files    map[string]File
	Metadata Metadata

	dir string
}

// File is one file of an image.
type File struct {
	// Path inside the image, slash-separated and relative.
	Path string `json:"path"`
	// Size in bytes.
	Size int64 `json:"size"`
	// SHA256 of the bytes Open serves, in hex.
	SHA256 string `json:"sha256"`
}

// Open opens a file of the image for reading; the caller closes it. A path the image does not have is
// fs.ErrNotExist.
func (i Image) Open(path string) (*os.File, error) {
	file, ok := i.Files[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	f, err := os.OpenInRoot(filepath.Join(i.dir, filesDir), file.SHA256)
	if err != nil {
		return nil, fmt.Errorf("opening %s of image %s: %w", path, i.Digest, err)
	}
	return f, nil
}

// mark is the content of the complete mark.
type mark struct {
	Version  int      `json:"version"`
	Digest   string   `json:"digest"`
	Files    []File   `json:"files"`
	Metadata Metadata `json:"metadata"`
}

// readImage reads an image back, or says that dir does not hold the whole of it. It trusts the mark only as far as
// the files bear it out: a restored backup or a careless rm may have left one without the other.
func readImage(dir, digest string) (Image, bool) {
	text, err := os.ReadFile(filepath.Join(dir, markName))
	if err != nil {
		return Image{}, false
	}
	var m mark
	if json.Unmarshal(text, &m) != nil || m.Version != markVersion || m.Digest != digest || m.Metadata.validate() != nil {
		return Image{}, false
	}
	image := Image{Digest: digest, Files: make(map[string]File, len(m.Files)), Metadata: m.Metadata, dir: dir}
	for _, file := range m.Files {
		if !hexForm.MatchString(file.SHA256) {
			return Image{}, false
		}
		info, err := os.Lstat(filepath.Join(dir, filesDir, file.SHA256))
		if err != nil || !info.Mode().IsRegular() || info.Size() != file.Size {
			return Image{}, false
		}
		image.Files[file.Path] = file
	}
	_, ok := image.Files[m.Metadata.Disk.Path]
	return image, ok
}

// writeMark makes the image in dir complete and brings all of it down to the disk.
func writeMark(dir string, m mark) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("marshalling the mark: %w", err)
	}
	// The names of the files have to be on the disk before the mark that speaks of them.
	if err := syncDir(filepath.Join(dir, filesDir)); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, markName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return storage("creating the mark", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return storage("writing the mark", err)
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return storage("opening a directory", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return storage("syncing a directory", err)
	}
	return nil
}
