// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"encoding/json"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// saved is an entry of manifest.json, which `docker load` and older tools read instead of index.json.
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// write puts the image into one archive in which both descriptions point at the same blobs. Annotations on the entry of the
// index name the image to containerd (io.containerd.image.name) and to podman and skopeo (org.opencontainers.image.ref.name).
func write(out io.Writer, image v1.Image, reference string) error {
	archive := tar.NewWriter(out)
	described, err := partial.Descriptor(image)
	if err != nil {
		return err
	}
	described.Annotations = map[string]string{
		"io.containerd.image.name":          reference,
		"org.opencontainers.image.ref.name": reference,
	}
	list := saved{RepoTags: []string{reference}}
	if list, err = writeBlobs(archive, image, list); err != nil {
		return err
	}
	for _, document := range []struct {
		name    string
		content any
	}{
		{"index.json", v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{*described}}},
		{"manifest.json", []saved{list}},
		{"oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"}},
	} {
		content, err := json.Marshal(document.content)
		if err != nil {
			return err
		}
		if err := entry(archive, document.name, 0o644, content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeBlobs writes manifest, configuration and layers, and adds the latter two to the list.
func writeBlobs(archive *tar.Writer, image v1.Image, list saved) (saved, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return list, err
	}
	raw, err := image.RawManifest()
	if err != nil {
		return list, err
	}
	digest, err := image.Digest()
	if err != nil {
		return list, err
	}
	if err := entry(archive, blob(digest), 0o644, raw); err != nil {
		return list, err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return list, err
	}
	list.Config = blob(manifest.Config.Digest)
	if err := entry(archive, list.Config, 0o644, config); err != nil {
		return list, err
	}
	layers, err := image.Layers()
	if err != nil {
		return list, err
	}
	for i, layer := range layers {
		reader, err := layer.Compressed()
		if err != nil {
			return list, err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return list, err
		}
		list.Layers = append(list.Layers, blob(manifest.Layers[i].Digest))
		if err := entry(archive, list.Layers[i], 0o644, content); err != nil {
			return list, err
		}
	}
	return list, nil
}

func blob(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }
