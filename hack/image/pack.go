// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is that of the Deployments' securityContext. The image has no /etc/passwd, so it is a number.
const user = "65532:65532"

// certificatesPath is where Go's crypto/x509 looks first.
const certificatesPath = "etc/ssl/certs/ca-certificates.crt"

// file is one that the image holds.
type file struct {
	path    string // without leading slash
	mode    int64
	content []byte
}

// read gives the files of the image, and the platform that the binary was built for.
func read(binary, certificates string) ([]file, v1.Platform, error) {
	platform, err := platformOf(binary)
	if err != nil {
		return nil, platform, fmt.Errorf("reading binary %s: %w", binary, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, platform, fmt.Errorf("reading binary: %w", err)
	}
	files := []file{{path: filepath.Base(binary), mode: 0o755, content: content}}
	if certificates != "" {
		bundle, err := os.ReadFile(certificates)
		if err != nil {
			return nil, platform, fmt.Errorf("reading certificates: %w", err)
		}
		files = append(files, file{path: certificatesPath, mode: 0o644, content: bundle})
	}
	return files, platform, nil
}

// platformOf reads what Go recorded in the binary, and refuses one that needs libraries: there are none in the image.
func platformOf(binary string) (v1.Platform, error) {
	executable, err := elf.Open(binary)
	if err != nil {
		return v1.Platform{}, err
	}
	defer func() { _ = executable.Close() }()
	for _, program := range executable.Progs {
		if program.Type == elf.PT_INTERP {
			return v1.Platform{}, errors.New("it is linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return v1.Platform{}, err
	}
	var platform v1.Platform
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS":
			platform.OS = setting.Value
		case "GOARCH":
			platform.Architecture = setting.Value
		}
	}
	return platform, nil
}

// pack makes an image of one layer. No time of day is in it, and no trace of the machine.
func pack(files []file, platform v1.Platform, version string) (v1.Image, error) {
	content, err := layerTar(files)
	if err != nil {
		return nil, fmt.Errorf("packing layer: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("packing layer: %w", err)
	}
	image, err := mutate.Append(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{CreatedBy: "hack/image", Created: v1.Time{Time: time.Unix(0, 0).UTC()}}})
	if err != nil {
		return nil, fmt.Errorf("adding layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	config.Config = v1.Config{
		Entrypoint: []string{"/" + files[0].path},
		User:       user,
		WorkingDir: "/",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "repave",
			"org.opencontainers.image.description": "Cluster API provider for bare metal",
			"org.opencontainers.image.source":      "https://github.com/repave-io/cluster-api-provider-repave",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     version,
		},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("writing configuration: %w", err)
	}
	return image, nil
}

// layerTar is the root of the image's files: folders before what is in them, everything owned by root.
func layerTar(files []file) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	made := map[string]bool{".": true}
	for _, f := range files {
		for _, dir := range parents(f.path) {
			if made[dir] {
				continue
			}
			made[dir] = true
			if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: time.Unix(0, 0)}); err != nil {
				return nil, err
			}
		}
		if err := entry(archive, f.path, f.mode, f.content); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), archive.Close()
}

// parents are the folders above a path, the highest first.
func parents(of string) []string {
	dir := path.Dir(of)
	if dir == "." {
		return nil
	}
	return append(parents(dir), dir)
}

func entry(archive *tar.Writer, name string, mode int64, content []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}
