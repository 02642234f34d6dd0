// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import "testing"

func BenchmarkEnsure64MiB(b *testing.B) {
	r := newRegistry(b)
	ref, _ := push(b, r, 64<<20)
	b.SetBytes(64 << 20)
	for b.Loop() {
		s := newStore(b, b.TempDir(), Options{})
		if _, err := s.Ensure(b.Context(), ref, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	r := newRegistry(b)
	ref, _ := push(b, r, 1000)
	s := newStore(b, b.TempDir(), Options{})
	image, err := s.Ensure(b.Context(), ref, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok := s.Lookup(image.Digest); !ok {
			b.Fatal("the image is gone")
		}
	}
}
