// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestTree(t *testing.T) {
	// One string per layer: entries in order, "d/" a directory, ".wh." whiteouts.
	cases := []struct {
		name   string
		layers []string
		want   string
	}{
		{"one layer", []string{"a b/c"}, "a@0 b/c@0"},
		{"a later layer covers", []string{"a b", "a"}, "a@1 b@0"},
		{"a whiteout", []string{"a b", ".wh.a"}, "b@0"},
		{"a whiteout of a directory", []string{"d/a d/e/b c", ".wh.d"}, "c@0"},
		{"a whiteout spares its own layer", []string{"a", "a .wh.a"}, "a@1"},
		{"an opaque directory", []string{"d/a d/b c", "d/x d/.wh..wh..opq"}, "c@0 d/x@1"},
		{"an opaque root", []string{"a b", "c .wh..wh..opq"}, "c@1"},
		{"a whiteout of a neighbour's prefix", []string{"d/a da", ".wh.d"}, "da@0"},
		{"a file over a directory", []string{"d/a d/b", "d"}, "d@1"},
		{"a directory over a file", []string{"d", "d/a"}, "d/a@1"},
		{"an empty directory over a file", []string{"d", "d/"}, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			tr := newTree()
			for layer, entries := range tc.layers {
				for _, entry := range strings.Fields(entries) {
					play(tr, entry, layer)
				}
			}
			NewWithT(t).Expect(show(tr)).To(Equal(tc.want))
		})
	}
}

// TestTreeIsATree: no order of entries makes a path both a file and a directory.
func TestTreeIsATree(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "c"})
	entry := rapid.Custom(func(t *rapid.T) string {
		p := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return p + "/"
		case 1:
			return path.Join(path.Dir(p), whiteout+path.Base(p))
		case 2:
			return p + "/" + whiteoutOpaque
		default:
			return p
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		tr := newTree()
		for layer, entries := range rapid.SliceOfN(rapid.SliceOfN(entry, 0, 12), 1, 4).Draw(t, "layers") {
			for _, e := range entries {
				play(tr, e, layer)
			}
		}
		for p := range tr.files {
			for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
				if _, ok := tr.files[dir]; ok {
					t.Fatalf("%s is a file and holds %s", dir, p)
				}
			}
		}
	})
}

func play(tr *tree, entry string, layer int) {
	switch base := path.Base(entry); {
	case strings.HasPrefix(base, whiteout):
		tr.whiteout(path.Dir(entry), base, layer)
	case strings.HasSuffix(entry, "/"):
		tr.mkdir(strings.TrimSuffix(entry, "/"))
	default:
		tr.put(File{Path: entry}, layer)
	}
}

func show(tr *tree) string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(tr.files)) {
		out = append(out, fmt.Sprintf("%s@%d", p, tr.files[p].layer))
	}
	return strings.Join(out, " ")
}
