// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestCrashWalk leaves each state that a crash, a full disk or a careless hand may leave, and shows that it is not
// served and that the next Ensure repairs it.
func TestCrashWalk(t *testing.T) {
	r := newRegistry(t)
	ref, disk := push(t, r, 50_000)
	digest := digestOf(t, ref)
	sum := sumOf(disk)
	cases := []struct {
		name string
		ruin func(g *WithT, dir, image string)
	}{
		{"work begun", func(g *WithT, dir, image string) {
			g.Expect(os.RemoveAll(image)).To(Succeed())
			g.Expect(os.MkdirAll(filepath.Join(dir, workDir, "pull-1"), dirMode)).To(Succeed())
		}},
		{"a file half written", func(g *WithT, dir, image string) {
			g.Expect(os.RemoveAll(image)).To(Succeed())
			files := filepath.Join(dir, workDir, "pull-1", filesDir)
			g.Expect(os.MkdirAll(files, dirMode)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(files, "partial-1"), disk[:100], fileMode)).To(Succeed())
		}},
		{"all written, without mark", func(g *WithT, dir, image string) {
			g.Expect(os.Remove(filepath.Join(image, markName))).To(Succeed())
			g.Expect(os.Rename(image, filepath.Join(dir, workDir, "pull-1"))).To(Succeed())
		}},
		{"all written and marked, not published", func(g *WithT, dir, image string) {
			g.Expect(os.Rename(image, filepath.Join(dir, workDir, "pull-1"))).To(Succeed())
		}},
		{"a ruin moved aside", func(g *WithT, dir, image string) {
			g.Expect(os.Rename(image, filepath.Join(dir, workDir, "pull-1-ruin"))).To(Succeed())
		}},
		{"an empty place", func(g *WithT, _, image string) {
			g.Expect(os.RemoveAll(image)).To(Succeed())
			g.Expect(os.Mkdir(image, dirMode)).To(Succeed())
		}},
		{"a place that is a file", func(g *WithT, _, image string) {
			g.Expect(os.RemoveAll(image)).To(Succeed())
			g.Expect(os.WriteFile(image, nil, fileMode)).To(Succeed())
		}},
		{"no mark", func(g *WithT, _, image string) {
			g.Expect(os.Remove(filepath.Join(image, markName))).To(Succeed())
		}},
		{"an empty mark", func(g *WithT, _, image string) {
			g.Expect(os.Truncate(filepath.Join(image, markName), 0)).To(Succeed())
		}},
		{"half a mark", func(g *WithT, _, image string) {
			g.Expect(os.Truncate(filepath.Join(image, markName), 40)).To(Succeed())
		}},
		{"the mark of another image", func(g *WithT, _, image string) { edit(g, image, digest, someDigest) }},
		{"the mark of another version", func(g *WithT, _, image string) { edit(g, image, `"version":1`, `"version":2`) }},
		{"a mark that leads elsewhere", func(g *WithT, _, image string) {
			edit(g, image, `"sha256":"`+sum, `"sha256":"../../`+sum)
		}},
		{"a file missing", func(g *WithT, _, image string) {
			g.Expect(os.Remove(filepath.Join(image, filesDir, sum))).To(Succeed())
		}},
		{"a file cut", func(g *WithT, _, image string) {
			g.Expect(os.Truncate(filepath.Join(image, filesDir, sum), 10)).To(Succeed())
		}},
		{"a file that is a link", func(g *WithT, _, image string) {
			g.Expect(os.Remove(filepath.Join(image, filesDir, sum))).To(Succeed())
			g.Expect(os.Symlink("/etc/hostname", filepath.Join(image, filesDir, sum))).To(Succeed())
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			before := newStore(t, dir, Options{})
			_, err := before.Ensure(t.Context(), ref, nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(before.Close()).To(Succeed())
			tc.ruin(g, dir, filepath.Join(dir, imagesDir, strings.TrimPrefix(digest, digestPrefix)))

			s, err := NewStore(dir, Options{})
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = s.Close() }()
			_, ok := s.Lookup(digest)
			g.Expect(ok).To(BeFalse(), "half an image is no image")
			g.Expect(s.Progress(digest).State).To(Equal(Absent))
			image, err := s.Ensure(t.Context(), ref, nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytes.Equal(contentOf(t, image, "disk.img"), disk)).To(BeTrue())
			_, ok = s.Lookup(digest)
			g.Expect(ok).To(BeTrue())
			expectClean(t, dir, 1)
		})
	}
}

func edit(g *WithT, image, old, with string) {
	path := filepath.Join(image, markName)
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring(old))
	g.Expect(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, with)), fileMode)).To(Succeed())
}

// TestTwoProcessesOneStore: the second finds work of the first and must leave it; both publish the same image.
func TestTwoProcessesOneStore(t *testing.T) {
	g := NewWithT(t)
	r, dir := newRegistry(t), t.TempDir()
	ref, _ := push(t, r, 50_000)
	first := newStore(t, dir, Options{})
	under := filepath.Join(dir, workDir, "pull-of-the-first")
	g.Expect(os.Mkdir(under, dirMode)).To(Succeed())
	second := newStore(t, dir, Options{})
	g.Expect(under).To(BeADirectory())
	g.Expect(os.Remove(under)).To(Succeed())

	errs := make(chan error, 2)
	for _, s := range []*Store{first, second} {
		go func() {
			_, err := s.Ensure(t.Context(), ref, nil)
			errs <- err
		}()
	}
	g.Expect(<-errs).NotTo(HaveOccurred())
	g.Expect(<-errs).NotTo(HaveOccurred())
	expectClean(t, dir, 1)
}
