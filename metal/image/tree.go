// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"strings"
)

const (
	whiteout       = ".wh."
	whiteoutOpaque = ".wh..wh..opq"
)

// tree is which files an image shows after the layers so far: a path is either a file or leads to files, never both.
type tree struct {
	files map[string]node
	// dirs remembers every path that ever led to a file, so that most entries need no search below them.
	dirs map[string]bool
}

type node struct {
	file File
	// layer that brought the file; a whiteout covers only layers before its own.
	layer int
}

func newTree() *tree {
	return &tree{files: map[string]node{}, dirs: map[string]bool{}}
}

// put places a file, over whatever was there before: another file, a whole directory, or a file on the way to it.
func (t *tree) put(file File, layer int) {
	t.makeDirs(file.Path)
	t.clear(file.Path, layer+1)
	t.files[file.Path] = node{file: file, layer: layer}
}

// mkdir makes path a directory.
func (t *tree) mkdir(path string) {
	t.makeDirs(path + "/")
}

// makeDirs makes every parent of path a directory.
func (t *tree) makeDirs(path string) {
	for i, r := range path {
		if r == '/' {
			delete(t.files, path[:i])
			t.dirs[path[:i]] = true
		}
	}
}

// clear removes the file at path and all below it that come from layers before this one.
func (t *tree) clear(path string, before int) {
	if n, ok := t.files[path]; ok && n.layer < before {
		delete(t.files, path)
	}
	if t.dirs[path] {
		t.clearBelow(path, before)
	}
}

func (t *tree) clearBelow(dir string, before int) {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	for path, n := range t.files {
		if strings.HasPrefix(path, prefix) && n.layer < before {
			delete(t.files, path)
		}
	}
}

// whiteout applies the whiteout base in directory dir. It is false for aufs's other reserved names, which say
// nothing an image of files could mean.
func (t *tree) whiteout(dir, base string, layer int) bool {
	if base == whiteoutOpaque {
		t.clearBelow(dir, layer)
		return true
	}
	name := strings.TrimPrefix(base, whiteout)
	if name == "" || name == "." || name == ".." || strings.HasPrefix(name, whiteout) {
		return false
	}
	if dir != "." {
		name = dir + "/" + name
	}
	t.clear(name, layer)
	return true
}
