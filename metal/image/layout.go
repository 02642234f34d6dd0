// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"io"
	"os"
	"strings"
)

const containerDisk = "disk/"

// Magic numbers of what disks come as.
var (
	magicGzip  = []byte{0x1f, 0x8b}
	magicZstd  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	magicQcow2 = []byte("QFI\xfb")
)

// describe finds out what an image holds: by its own metadata, or as a container disk.
func describe(files map[string]File, content *os.Root) (Metadata, error) {
	if file, ok := files[MetadataPath]; ok {
		return describedBy(file, files, content)
	}
	var disk *File
	for _, file := range files {
		if !strings.HasPrefix(file.Path, containerDisk) {
			continue
		}
		if disk != nil {
			return Metadata{}, failure(BadLayout, "there is no %s and more than one file in /disk", MetadataPath)
		}
		disk = &file
	}
	if disk == nil {
		return Metadata{}, failure(BadLayout, "there is neither %s nor a file in /disk", MetadataPath)
	}
	compression, err := recognise(*disk, content)
	if err != nil {
		return Metadata{}, err
	}
	m := Metadata{
		APIVersion: MetadataAPIVersion,
		Disk:       Disk{Path: disk.Path, SHA256: disk.SHA256, Compression: compression},
	}
	if compression == None {
		m.Disk.Size = disk.Size
	}
	return m, nil
}

// describedBy reads the metadata and holds it against the files.
func describedBy(file File, files map[string]File, content *os.Root) (Metadata, error) {
	text, err := readHead(file, content, maxMetadata+1)
	if err != nil {
		return Metadata{}, err
	}
	m, err := ParseMetadata(text)
	if err != nil {
		return Metadata{}, failure(BadLayout, "%v", err)
	}
	for _, path := range []string{m.Disk.Path, m.Kernel, m.Initrd} {
		if _, ok := files[path]; !ok && path != "" {
			return Metadata{}, failure(BadLayout, "%s names %q, which is not in the image", MetadataPath, path)
		}
	}
	disk := files[m.Disk.Path]
	if disk.SHA256 != m.Disk.SHA256 {
		return Metadata{}, failure(BadLayout, "%s says sha256 %s of the disk; it has %s", MetadataPath, m.Disk.SHA256, disk.SHA256)
	}
	compression, err := recognise(disk, content)
	if err != nil {
		return Metadata{}, err
	}
	if m.Disk.Compression != compression {
		return Metadata{}, failure(BadLayout, "%s says compression %s of the disk; it has %s", MetadataPath, m.Disk.Compression, compression)
	}
	if compression == None && m.Disk.Size != disk.Size {
		return Metadata{}, failure(BadLayout, "%s says size %d of the disk; it has %d", MetadataPath, m.Disk.Size, disk.Size)
	}
	return m, nil
}

// recognise tells how a disk is stored by its first bytes. No boot sector begins like a compressed stream.
func recognise(disk File, content *os.Root) (Compression, error) {
	head, err := readHead(disk, content, len(magicQcow2))
	switch {
	case err != nil:
		return "", err
	case disk.Size == 0:
		return "", failure(BadLayout, "the disk %q is empty", disk.Path)
	case bytes.HasPrefix(head, magicQcow2):
		return "", failure(BadLayout, "the disk %q is qcow2; an installer writes raw disks", disk.Path)
	case bytes.HasPrefix(head, magicGzip):
		return Gzip, nil
	case bytes.HasPrefix(head, magicZstd):
		return Zstd, nil
	default:
		return None, nil
	}
}

func readHead(file File, content *os.Root, n int) ([]byte, error) {
	f, err := content.Open(file.SHA256)
	if err != nil {
		return nil, storage("opening a file", err)
	}
	defer func() { _ = f.Close() }()
	head, err := io.ReadAll(io.LimitReader(f, int64(n)))
	if err != nil {
		return nil, storage("reading a file", err)
	}
	return head, nil
}
