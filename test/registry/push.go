// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// metadataPath is where a netboot image says what it holds.
const metadataPath = "metadata.yaml"

// Layer is one layer as it is stored: the bytes of the blob and what they are.
type Layer struct {
	Blob      []byte
	MediaType types.MediaType
}

// PushNetbootImage stores an image of one gzip layer with files (path inside the image to content) and, unless
// metadata is nil, with metadata as metadata.yaml. Metadata is any value with json tags that YAML can carry.
// Returns the reference pinned by digest; the same input gives the same digest.
func (r *Registry) PushNetbootImage(ctx context.Context, repository string, files map[string][]byte, metadata any) (string, error) {
	if metadata == nil {
		return r.pushFiles(ctx, repository, files)
	}
	text, err := yaml.Marshal(metadata)
	if err != nil {
		return "", fmt.Errorf("marshalling metadata of %s: %w", repository, err)
	}
	all := maps.Clone(files)
	if all == nil {
		all = map[string][]byte{}
	}
	all[metadataPath] = text
	return r.pushFiles(ctx, repository, all)
}

// PushOSImage stores a bootable container image of one gzip layer with files.
// Returns the reference pinned by digest; the same input gives the same digest.
func (r *Registry) PushOSImage(ctx context.Context, repository string, files map[string][]byte) (string, error) {
	return r.pushFiles(ctx, repository, files)
}

func (r *Registry) pushFiles(ctx context.Context, repository string, files map[string][]byte) (string, error) {
	archive, err := Tar(files)
	if err != nil {
		return "", err
	}
	compressed, err := Gzip(archive)
	if err != nil {
		return "", err
	}
	return r.PushLayers(ctx, repository, Layer{Blob: compressed, MediaType: types.OCILayer})
}

// PushLayers stores an image of the given layers, oldest first, and returns its reference pinned by digest.
// The layers are not looked into: this is how a test stores what a well-meaning builder would not.
func (r *Registry) PushLayers(ctx context.Context, repository string, layers ...Layer) (string, error) {
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
	if err != nil {
		return "", fmt.Errorf("writing config of %s: %w", repository, err)
	}
	for _, layer := range layers {
		img, err = mutate.AppendLayers(img, static.NewLayer(layer.Blob, layer.MediaType))
		if err != nil {
			return "", fmt.Errorf("appending layer to %s: %w", repository, err)
		}
	}
	digest, err := img.Digest()
	if err != nil {
		return "", fmt.Errorf("computing digest of %s: %w", repository, err)
	}
	ref, err := r.reference(repository, digest)
	if err != nil {
		return "", err
	}
	if err := remote.Write(ref, img, remote.WithContext(ctx), remote.WithTransport(roundTripper(r.do))); err != nil {
		return "", fmt.Errorf("pushing %s: %w", repository, err)
	}
	return ref.Name(), nil
}

// PushIndex stores an index of images pushed before (platform such as linux/arm64 to pinned reference) and returns
// its reference pinned by digest.
func (r *Registry) PushIndex(ctx context.Context, repository string, images map[string]string) (string, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	in := remote.WithTransport(roundTripper(r.do))
	for _, platform := range slices.Sorted(maps.Keys(images)) {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			return "", fmt.Errorf("parsing platform %s: %w", platform, err)
		}
		ref, err := parsePinned(images[platform])
		if err != nil {
			return "", err
		}
		img, err := remote.Image(ref, in, remote.WithContext(ctx))
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", ref, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("computing digest of %s: %w", repository, err)
	}
	ref, err := r.reference(repository, digest)
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx), in); err != nil {
		return "", fmt.Errorf("pushing index %s: %w", repository, err)
	}
	return ref.Name(), nil
}

func (r *Registry) reference(repository string, digest v1.Hash) (name.Digest, error) {
	return parsePinned(r.host + "/" + repository + "@" + digest.String())
}

func parsePinned(ref string) (name.Digest, error) {
	parsed, err := name.NewDigest(ref)
	if err != nil {
		return name.Digest{}, fmt.Errorf("naming image: %w", err)
	}
	return parsed, nil
}

// Tar packs files in the order of their paths, without times and owners, so that equal files give equal bytes.
func Tar(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(files[path]))}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", path, err)
		}
		if _, err := w.Write(files[path]); err != nil {
			return nil, fmt.Errorf("packing %s: %w", path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing files: %w", err)
	}
	return out.Bytes(), nil
}

// Gzip compresses at the fastest level: images of tests and demos are read once.
func Gzip(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compressing layer: %w", err)
	}
	if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
		return nil, fmt.Errorf("compressing layer: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing layer: %w", err)
	}
	return out.Bytes(), nil
}

// roundTripper makes a function an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
