// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image packs a static binary into a container image without a container engine.
//
// What enters is the binary, its version and, if wanted, a bundle of CA certificates; what leaves is one tar file that is an
// OCI image layout and a `docker save` archive at once, so that every engine and `crane push` can read it. The same input
// gives the same bytes. It knows nothing of what the binary does.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var binary, certificates, name, version, out string
	flag.StringVar(&binary, "binary", "bin/repave", "Static binary to pack; it becomes the entrypoint.")
	flag.StringVar(&certificates, "certificates", "", "PEM bundle of the authorities that the binary trusts, for example of registries; empty is none.")
	flag.StringVar(&name, "name", "ghcr.io/repave-io/cluster-api-provider-repave", "Name of the image without tag.")
	flag.StringVar(&version, "version", "v0.0.0-dev", "Version, which becomes the tag.")
	flag.StringVar(&out, "out", "out/repave-image.tar", "File to write.")
	flag.Parse()
	digest, err := run(binary, certificates, name, version, out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %s:%s@%s\n", out, name, version, digest)
}

// run writes the image and gives its digest. What is there already is replaced only by a whole image.
func run(binary, certificates, name, version, out string) (string, error) {
	files, platform, err := read(binary, certificates)
	if err != nil {
		return "", err
	}
	image, err := pack(files, platform, version)
	if err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("digesting image: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", fmt.Errorf("making folder: %w", err)
	}
	part, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".part-")
	if err != nil {
		return "", fmt.Errorf("writing image: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // gone already when all went well
	err = write(part, image, name+":"+version)
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("writing image: %w", err)
	}
	if err := os.Chmod(part.Name(), 0o644); err != nil {
		return "", fmt.Errorf("writing image: %w", err)
	}
	return digest.String(), os.Rename(part.Name(), out)
}
