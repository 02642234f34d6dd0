// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// maxManifest is what distribution registries accept.
	maxManifest = 4 << 20
	maxLayers   = 128
)

var manifestTypes = strings.Join([]string{
	string(types.OCIManifestSchema1), string(types.DockerManifestSchema2),
	string(types.OCIImageIndex), string(types.DockerManifestList),
}, ", ")

// layers are what an image is made of, oldest first, all of kinds and sizes this store takes.
func (s *source) layers(ctx context.Context) ([]v1.Descriptor, error) {
	text, err := s.manifest(ctx, s.ref.Digest)
	if err != nil {
		return nil, err
	}
	if index, err := parseIndex(text); err != nil {
		return nil, err
	} else if index != nil {
		child, err := choose(index, s.opts.Platform)
		if err != nil {
			return nil, err
		}
		if text, err = s.manifest(ctx, child); err != nil {
			return nil, err
		}
		if nested, err := parseIndex(text); err != nil || nested != nil {
			return nil, failure(BadLayout, "the index holds another index")
		}
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(text))
	if err != nil {
		return nil, failure(BadLayout, "the manifest cannot be parsed")
	}
	return manifest.Layers, acceptable(manifest.Layers, s.opts)
}

// manifest fetches a manifest or index and verifies it.
func (s *source) manifest(ctx context.Context, digest string) ([]byte, error) {
	const doing = "fetching the manifest"
	resp, err := s.get(ctx, doing, "/manifests/"+digest, http.Header{"Accept": {manifestTypes}}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	if err != nil {
		return nil, exchange(doing, err)
	}
	if len(text) > maxManifest {
		return nil, failure(TooLarge, "the manifest is larger than %d bytes", maxManifest)
	}
	sum := sha256.Sum256(text)
	if got := digestPrefix + hex.EncodeToString(sum[:]); got != digest {
		return nil, failure(DigestMismatch, "the manifest %s came as %s", digest, got)
	}
	return text, nil
}

// parseIndex returns nil for an image manifest. The digest covers the text but not the Content-Type header, so only
// the text decides what it is; a text that could be taken for both is refused.
func parseIndex(text []byte) (*v1.IndexManifest, error) {
	var shape struct {
		Manifests json.RawMessage `json:"manifests"`
		Layers    json.RawMessage `json:"layers"`
	}
	if err := json.Unmarshal(text, &shape); err != nil {
		return nil, failure(BadLayout, "the manifest cannot be parsed")
	}
	if shape.Manifests == nil {
		return nil, nil
	}
	if shape.Layers != nil {
		return nil, failure(BadLayout, "the manifest is both an image and an index")
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return nil, failure(BadLayout, "the index cannot be parsed")
	}
	return index, nil
}

// choose finds the image of the wanted platform.
func choose(index *v1.IndexManifest, platform string) (string, error) {
	wanted, err := v1.ParsePlatform(platform)
	if err != nil {
		return "", failure(BadLayout, "the platform %s cannot be parsed", platform)
	}
	for _, image := range index.Manifests {
		if image.Platform == nil || !image.Platform.Satisfies(*wanted) {
			continue
		}
		if _, ok := hexOf(image.Digest.String()); !ok {
			return "", failure(BadLayout, "the index names an image not by sha256")
		}
		return image.Digest.String(), nil
	}
	return "", failure(NotFound, "the index has no image for %s", platform)
}

// acceptable refuses layers of the wrong kind or size before a byte of them is fetched.
func acceptable(layers []v1.Descriptor, opts *Options) error {
	if len(layers) == 0 || len(layers) > maxLayers {
		return failure(BadLayout, "the image has %d layers; 1 to %d are taken", len(layers), maxLayers)
	}
	var total int64
	for _, layer := range layers {
		if _, ok := hexOf(layer.Digest.String()); !ok || layer.Size < 0 {
			return failure(BadLayout, "the manifest names a layer without sha256 and size")
		}
		if _, ok := unpackers[layer.MediaType]; !ok {
			return failure(BadLayout, "layer %s is %q; tar and tar+gzip are taken", layer.Digest, layer.MediaType)
		}
		if layer.Size > opts.MaxBlobBytes {
			return failure(TooLarge, "layer %s has %d bytes; the limit is %d", layer.Digest, layer.Size, opts.MaxBlobBytes)
		}
		// Both are below their limits here, so that the sum cannot overflow.
		if total += layer.Size; total > opts.MaxImageBytes {
			return failure(TooLarge, "the layers have more than %d bytes", opts.MaxImageBytes)
		}
	}
	return nil
}
