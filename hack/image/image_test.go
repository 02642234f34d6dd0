// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/gomega"
)

const (
	imageName = "registry.example/repave"
	version   = "v9.8.7"
	bundle    = "-----BEGIN CERTIFICATE-----\n"
)

// scratch holds the manager's binary, built once for all tests.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "repave-image-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(status)
}

var build = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(scratch, "repave")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w -X github.com/repave-io/cluster-api-provider-repave/version.version="+version, "-o", binary, "../..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return binary, nil
})

// packed gives the manager's image in a file of its own.
func packed(t *testing.T) (file, digest string) {
	t.Helper()
	g := NewWithT(t)
	binary, err := build()
	g.Expect(err).NotTo(HaveOccurred())
	certificates := filepath.Join(t.TempDir(), "bundle")
	g.Expect(os.WriteFile(certificates, []byte(bundle), 0o600)).To(Succeed())
	file = filepath.Join(t.TempDir(), "out", "image.tar")
	digest, err = run(binary, certificates, imageName, version, file)
	g.Expect(err).NotTo(HaveOccurred())
	return file, digest
}

// unpack writes an archive's files into a folder.
func unpack(t *testing.T, archive io.Reader) (string, []*tar.Header) {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	var headers []*tar.Header
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return dir, headers
		}
		g.Expect(err).NotTo(HaveOccurred())
		headers = append(headers, header)
		path := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			g.Expect(os.MkdirAll(path, 0o755)).To(Succeed())
			continue
		}
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		content, err := io.ReadAll(reader)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(path, content, header.FileInfo().Mode())).To(Succeed())
	}
}

// Engines read one of two descriptions in the archive. Both are valid, and both are of the same image.
func TestImageIsValid(t *testing.T) {
	g := NewWithT(t)
	file, digest := packed(t)

	tag, err := name.NewTag(imageName + ":" + version)
	g.Expect(err).NotTo(HaveOccurred())
	archive, err := tarball.ImageFromPath(file, &tag)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(validate.Image(archive)).To(Succeed())

	content, err := os.Open(file)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = content.Close() }()
	dir, _ := unpack(t, content)
	index, err := layout.ImageIndexFromPath(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(validate.Index(index)).To(Succeed())
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(1))
	g.Expect(manifest.Manifests[0].Digest.String()).To(Equal(digest))
	g.Expect(manifest.Manifests[0].Annotations).To(HaveKeyWithValue("io.containerd.image.name", tag.String()))

	fromLayout, err := index.Image(manifest.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	want, err := fromLayout.ConfigName()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(archive.ConfigName()).To(Equal(want))
}

func TestImageRunsAsTheDeploymentsWantIt(t *testing.T) {
	g := NewWithT(t)
	file, _ := packed(t)
	image, err := tarball.ImageFromPath(file, nil)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := image.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.OS).To(Equal("linux"))
	g.Expect(config.Config.User).To(Equal("65532:65532"))
	g.Expect(config.Config.Entrypoint).To(Equal([]string{"/repave"}))
	g.Expect(config.Config.Labels).To(HaveKeyWithValue("org.opencontainers.image.version", version))
	g.Expect(config.RootFS.DiffIDs).To(HaveLen(1))

	root := mutate.Extract(image)
	defer func() { _ = root.Close() }()
	dir, headers := unpack(t, root)
	var names []string
	for _, header := range headers {
		names = append(names, header.Name)
		g.Expect([]int{header.Uid, header.Gid}).To(Equal([]int{0, 0}), "the process cannot change its own files")
	}
	g.Expect(names).To(Equal([]string{"repave", "etc", "etc/ssl", "etc/ssl/certs", "etc/ssl/certs/ca-certificates.crt"}))
	g.Expect(os.ReadFile(filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt"))).To(BeEquivalentTo(bundle))

	said, err := exec.Command(filepath.Join(dir, "repave"), "--version").Output()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(said)).To(ContainSubstring(version))
}

// The same binary gives the same bytes, whenever and wherever it lies.
func TestImageIsReproducible(t *testing.T) {
	g := NewWithT(t)
	first, digest := packed(t)
	binary, err := build()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Chtimes(binary, time.Unix(1, 0), time.Unix(1, 0))).To(Succeed())
	second, again := packed(t)
	g.Expect(again).To(Equal(digest))
	a, err := os.ReadFile(first)
	g.Expect(err).NotTo(HaveOccurred())
	b, err := os.ReadFile(second)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(a, b)).To(BeTrue())
}

// executable is an ELF file that holds nothing but one segment.
func executable(t *testing.T, segment elf.ProgType) string {
	t.Helper()
	g := NewWithT(t)
	var content bytes.Buffer
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	g.Expect(binary.Write(&content, binary.LittleEndian, header)).To(Succeed())
	g.Expect(binary.Write(&content, binary.LittleEndian, elf.Prog64{Type: uint32(segment)})).To(Succeed())
	path := filepath.Join(t.TempDir(), "program")
	g.Expect(os.WriteFile(path, content.Bytes(), 0o755)).To(Succeed())
	return path
}

func TestWhatCannotRunIsRefused(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	NewWithT(t).Expect(os.WriteFile(script, []byte("#!/bin/sh\n"+strings.Repeat("true\n", 20)), 0o755)).To(Succeed())
	for title, test := range map[string]struct{ binary, want string }{
		"missing":     {filepath.Join(t.TempDir(), "nowhere"), "no such file"},
		"a script":    {script, "bad magic number"},
		"not static":  {executable(t, elf.PT_INTERP), "linked dynamically"},
		"not from Go": {executable(t, elf.PT_LOAD), "Go"},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			out := filepath.Join(t.TempDir(), "image.tar")
			g.Expect(os.WriteFile(out, []byte("an earlier image"), 0o644)).To(Succeed())
			_, err := run(test.binary, "", imageName, version, out)
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(os.ReadFile(out)).To(BeEquivalentTo("an earlier image"))
		})
	}
}

func TestWithoutCertificatesThereIsOnlyTheBinary(t *testing.T) {
	g := NewWithT(t)
	content, err := layerTar([]file{{path: "repave", mode: 0o755, content: []byte("x")}})
	g.Expect(err).NotTo(HaveOccurred())
	_, headers := unpack(t, bytes.NewReader(content))
	g.Expect(headers).To(HaveLen(1))

	first, err := pack([]file{{path: "repave", mode: 0o755, content: []byte("x")}}, v1.Platform{OS: "linux", Architecture: "arm64"}, version)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := first.ConfigFile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Architecture).To(Equal("arm64"), "the platform is the binary's, not this machine's")
}
