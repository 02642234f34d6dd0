// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/test/registry"
)

// archive packs headers as they are; a file's content is its own name, cut or padded to its size.
func archive(t *testing.T, headers ...tar.Header) registry.Layer {
	t.Helper()
	g := NewWithT(t)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, header := range headers {
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		var content []byte
		if header.Typeflag == tar.TypeReg && !strings.HasSuffix(header.Name, "/") {
			content = []byte(header.Name)
			header.Size = int64(len(content))
		}
		g.Expect(w.WriteHeader(&header)).To(Succeed())
		_, err := w.Write(content)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(w.Close()).To(Succeed())
	return registry.Layer{Blob: out.Bytes(), MediaType: types.OCIUncompressedLayer}
}

func TestLayersThatAreRefused(t *testing.T) {
	disk := tar.Header{Name: "disk/d"}
	cases := []struct {
		name  string
		entry tar.Header
		text  string
	}{
		{"a path out of the image", tar.Header{Name: "../evil"}, "relative path"},
		{"a path out of the image, hidden", tar.Header{Name: "disk/../../evil"}, "relative path"},
		{"an absolute path", tar.Header{Name: "/etc/passwd"}, "relative path"},
		{"a symbolic link out", tar.Header{Name: "disk/l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "symbolic link"},
		{"a symbolic link inside", tar.Header{Name: "disk/l", Typeflag: tar.TypeSymlink, Linkname: "d"}, "symbolic link"},
		{"a hard link out", tar.Header{Name: "disk/l", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}, "relative path"},
		{"a hard link to nothing", tar.Header{Name: "disk/l", Typeflag: tar.TypeLink, Linkname: "x"}, "not there"},
		{"a block device", tar.Header{Name: "disk/sda", Typeflag: tar.TypeBlock}, "device"},
		{"a character device", tar.Header{Name: "disk/tty", Typeflag: tar.TypeChar}, "device"},
		{"a pipe", tar.Header{Name: "disk/p", Typeflag: tar.TypeFifo}, "device"},
		{"aufs's own files", tar.Header{Name: ".wh..wh.plnk"}, "whiteout"},
		{"a second disk", tar.Header{Name: "disk/e"}, "more than one file in /disk"},
		{"a disk covered by nothing", tar.Header{Name: ".wh.disk"}, "a file in /disk"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r, outer := newRegistry(t), t.TempDir()
			dir := filepath.Join(outer, "a", "b")
			s := newStore(t, dir, Options{})
			ref, err := r.PushLayers(t.Context(), "evil", archive(t, disk), archive(t, tc.entry))
			g.Expect(err).NotTo(HaveOccurred())
			_, err = s.Ensure(t.Context(), ref, nil)
			g.Expect(KindOf(err)).To(Equal(BadLayout), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.text)))
			expectClean(t, dir, 0)
			g.Expect(names(t, outer)).To(ConsistOf("a"))
			g.Expect(names(t, dir)).To(ConsistOf(imagesDir, workDir, lockName))
		})
	}
}

func TestLayersCoverEachOther(t *testing.T) {
	g := NewWithT(t)
	r, dir := newRegistry(t), t.TempDir()
	s := newStore(t, dir, Options{})
	ref, err := r.PushLayers(t.Context(), "layers",
		archive(t, tar.Header{Name: "./disk/", Typeflag: tar.TypeDir}, tar.Header{Name: "./disk/old"}, tar.Header{Name: "gone"}),
		archive(t, tar.Header{Name: "disk/.wh.old"}, tar.Header{Name: ".wh.gone"}, tar.Header{Name: "new"},
			tar.Header{Name: "disk/d", Typeflag: tar.TypeLink, Linkname: "new"}),
	)
	g.Expect(err).NotTo(HaveOccurred())
	image, err := s.Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(slices.Sorted(maps.Keys(image.Files))).To(Equal([]string{"disk/d", "new"}))
	g.Expect(string(contentOf(t, image, "disk/d"))).To(Equal("new"))
	g.Expect(names(t, filepath.Join(image.dir, filesDir))).To(ConsistOf(sumOf([]byte("new"))), "covered files leave the disk")
}

func TestImagesThatAreNoNetbootImages(t *testing.T) {
	good, metadata := netboot([]byte("raw disk"))
	with := func(change func(*Metadata)) Metadata {
		m := metadata
		change(&m)
		return m
	}
	cases := []struct {
		name     string
		files    map[string][]byte
		metadata any
		text     string
	}{
		{"an OS image", map[string][]byte{"usr/bin/sh": []byte("x")}, nil, "neither metadata.yaml nor a file in /disk"},
		{"qcow2", map[string][]byte{"disk/d": []byte("QFI\xfb...")}, nil, "qcow2"},
		{"an empty disk", map[string][]byte{"disk/d": {}}, nil, "is empty"},
		{"bad metadata", good, map[string]string{"apiVersion": "x"}, "apiVersion must be"},
		{"no kernel", good, with(func(m *Metadata) { m.Kernel = "vmlinuz" }), `names "vmlinuz"`},
		{"another checksum", good, with(func(m *Metadata) { m.Disk.SHA256 = someSum }), "says sha256"},
		{"another size", good, with(func(m *Metadata) { m.Disk.Size = 5 }), "says size 5"},
		{"another compression", good, with(func(m *Metadata) { m.Disk.Compression = Zstd }), "says compression zstd"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r, dir := newRegistry(t), t.TempDir()
			ref, err := r.PushNetbootImage(t.Context(), "bad", tc.files, tc.metadata)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = newStore(t, dir, Options{}).Ensure(t.Context(), ref, nil)
			g.Expect(KindOf(err)).To(Equal(BadLayout), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.text)))
			expectClean(t, dir, 0)
		})
	}
}

func TestLayerBlobsThatAreNoArchives(t *testing.T) {
	bomb, err := registry.Gzip(make([]byte, 64<<20))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	cases := []struct {
		name  string
		layer registry.Layer
		kind  Kind
	}{
		{"not gzip", registry.Layer{Blob: []byte("plain"), MediaType: types.OCILayer}, BadLayout},
		{"not tar", registry.Layer{Blob: bytes.Repeat([]byte("x"), 2000), MediaType: types.OCIUncompressedLayer}, BadLayout},
		{"not a layer", registry.Layer{Blob: []byte("{}"), MediaType: "application/json"}, BadLayout},
		{"a bomb", registry.Layer{Blob: bomb, MediaType: types.OCILayer}, TooLarge},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r, dir := newRegistry(t), t.TempDir()
			ref, err := r.PushLayers(t.Context(), "bad", tc.layer)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = newStore(t, dir, Options{MaxImageBytes: 1 << 20, MaxEntries: 10}).Ensure(t.Context(), ref, nil)
			g.Expect(KindOf(err)).To(Equal(tc.kind), "%v", err)
			expectClean(t, dir, 0)
		})
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var out []string
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}
