// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

const (
	// MetadataAPIVersion is the only version of metadata.yaml there is.
	MetadataAPIVersion = "repave.io/netboot-image/v1alpha1"
	// MetadataPath is where an image keeps its metadata.
	MetadataPath = "metadata.yaml"

	maxMetadata = 64 << 10
	// maxCmdline is Linux's COMMAND_LINE_SIZE on x86, the smallest of the platforms we boot.
	maxCmdline = 2048
	maxPath    = 1024
)

// Compression is how a disk is stored.
type Compression string

// The compressions an installer can undo.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// Metadata says what a netboot image holds. Paths are inside the image.
type Metadata struct {
	APIVersion string `json:"apiVersion"`
	Disk       Disk   `json:"disk"`
	// Kernel and Initrd boot the installer of this image instead of the server's own; Initrd and Cmdline need Kernel.
	Kernel  string `json:"kernel,omitempty"`
	Initrd  string `json:"initrd,omitempty"`
	Cmdline string `json:"cmdline,omitempty"`
	// OSImage is the pinned reference of the bootable container image that the disk holds.
	OSImage string `json:"osImage,omitempty"`
}

// Disk is the file an installer writes.
type Disk struct {
	Path string `json:"path"`
	// SHA256 is of the file as it is stored, in hex.
	SHA256      string      `json:"sha256"`
	Compression Compression `json:"compression"`
	// Size of the raw disk in bytes; 0 only for a compressed container disk, whose size nobody said.
	Size int64 `json:"size"`
}

var (
	hexForm        = regexp.MustCompile(`^[0-9a-f]{64}$`)
	metadataFields = []string{"apiVersion", "disk", "kernel", "initrd", "cmdline", "osImage"}
	diskFields     = []string{"path", "sha256", "compression", "size"}
)

// ParseMetadata reads metadata.yaml strictly: one document, known fields in their exact spelling, each once, all
// values valid.
func ParseMetadata(text []byte) (Metadata, error) {
	m, err := decodeMetadata(text)
	if err == nil {
		err = m.validate()
	}
	if err == nil && m.Disk.Size <= 0 {
		err = errors.New("disk.size must be the number of bytes of the raw disk")
	}
	if err != nil {
		return Metadata{}, fmt.Errorf("parsing %s: %w", MetadataPath, err)
	}
	return m, nil
}

func decodeMetadata(text []byte) (Metadata, error) {
	if len(text) > maxMetadata {
		return Metadata{}, fmt.Errorf("it is larger than %d bytes", maxMetadata)
	}
	if err := oneDocument(text); err != nil {
		return Metadata{}, err
	}
	var fields map[string]any
	if err := yaml.UnmarshalStrict(text, &fields); err != nil {
		return Metadata{}, oneLine(err)
	}
	// The JSON decoder underneath takes fields in any case; two spellings of one field would both count.
	if err := known("", fields, metadataFields); err != nil {
		return Metadata{}, err
	}
	if disk, ok := fields["disk"].(map[string]any); ok {
		if err := known("disk.", disk, diskFields); err != nil {
			return Metadata{}, err
		}
	}
	var m Metadata
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return Metadata{}, oneLine(err)
	}
	return m, nil
}

// oneDocument refuses a second YAML document, which the decoder would drop in silence.
func oneDocument(text []byte) error {
	begun := false
	for line := range bytes.Lines(text) {
		marker := bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))
		if marker && begun {
			return errors.New("it has more than one document")
		}
		trimmed := bytes.TrimSpace(line)
		begun = begun || marker || (len(trimmed) > 0 && trimmed[0] != '#' && trimmed[0] != '%')
	}
	return nil
}

func known(prefix string, fields map[string]any, names []string) error {
	var unknown []string
	for field := range fields {
		if !slices.Contains(names, field) {
			unknown = append(unknown, fmt.Sprintf("%q", prefix+field))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("unknown field %s", strings.Join(unknown, ", "))
}

func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// validate checks the values, not the files they name.
func (m *Metadata) validate() error {
	if m.APIVersion != MetadataAPIVersion {
		return fmt.Errorf("apiVersion must be %s", MetadataAPIVersion)
	}
	if err := validPath(m.Disk.Path); err != nil {
		return fmt.Errorf("disk.path %w", err)
	}
	if !hexForm.MatchString(m.Disk.SHA256) {
		return errors.New("disk.sha256 must be 64 lower-case hex digits")
	}
	if !slices.Contains([]Compression{None, Gzip, Zstd}, m.Disk.Compression) {
		return errors.New("disk.compression must be none, gzip or zstd")
	}
	if m.Disk.Size < 0 {
		return errors.New("disk.size must not be negative")
	}
	return m.validateBoot()
}

func (m *Metadata) validateBoot() error {
	if m.Kernel == "" && (m.Initrd != "" || m.Cmdline != "") {
		return errors.New("initrd and cmdline need a kernel")
	}
	for _, file := range []struct{ field, path string }{{"kernel", m.Kernel}, {"initrd", m.Initrd}} {
		if file.path == "" {
			continue
		}
		if err := validPath(file.path); err != nil {
			return fmt.Errorf("%s %w", file.field, err)
		}
	}
	if len(m.Cmdline) > maxCmdline {
		return fmt.Errorf("cmdline is longer than %d bytes", maxCmdline)
	}
	if strings.ContainsFunc(m.Cmdline, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errors.New("cmdline must be one printable line")
	}
	if m.OSImage == "" {
		return nil
	}
	if _, err := ParseRef(m.OSImage); err != nil {
		return errors.New("osImage must be a reference pinned by digest: registry/name@sha256:…")
	}
	return nil
}

// validPath accepts the one spelling of a path inside an image: relative, clean, printable.
func validPath(path string) error {
	switch {
	case path == "" || path == ".":
		return errors.New("must name a file")
	case len(path) > maxPath:
		return fmt.Errorf("is longer than %d bytes", maxPath)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) || strings.Contains(path, `\`):
		return errors.New("must be printable text without backslash")
	case !fs.ValidPath(path):
		return errors.New("must be a relative path; the elements . and .. are not allowed")
	}
	return nil
}
