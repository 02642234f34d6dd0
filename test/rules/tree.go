// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Module is the path of the project's module.
const Module = "github.com/repave-io/cluster-api-provider-repave"

// Tree is what the rules look at.
type Tree struct {
	Packages []Package // of the project's own module
	Files    []File
	files    *token.FileSet
}

// Package is what go list says of a package. Paths of the project's own packages are relative to the module; "" is main.
type Package struct {
	Path        string
	Imports     []string // of what is built
	TestImports []string // of its tests alone
	Deps        []string // the whole closure of Imports
}

// File is a file that is, or is about to be, tracked.
type File struct {
	Path string // relative to the root
	Text string
	Go   *ast.File // nil where it is not Go of the project's own module
}

// Room is the folder of a file.
func (f File) Room() string {
	if dir := path.Dir(f.Path); dir != "." {
		return dir
	}
	return ""
}

// Test says whether a file is built for tests only.
func (f File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Generated says whether a program wrote the file.
func (f File) Generated() bool { return f.Go != nil && ast.IsGenerated(f.Go) }

// Load reads the tree of a checkout.
func Load(root string) (*Tree, error) {
	t := &Tree{files: token.NewFileSet()}
	names, err := output(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, fmt.Errorf("listing files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return nil, fmt.Errorf("reading files: %w", err)
		}
		if err := t.Add(name, string(content)); err != nil {
			return nil, err
		}
	}
	if err := t.touch(root); err != nil {
		return nil, err
	}
	listed, err := output(root, "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	return t, t.addPackages(listed)
}

// touch reads the folders of all files, for the cache of go test: it notices what a test reads by itself, and would show an
// old success where git alone told of a new file.
func (t *Tree) touch(root string) error {
	seen := map[string]bool{}
	for _, f := range t.Files {
		for dir := path.Dir(f.Path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if _, err := os.ReadDir(filepath.Join(root, dir)); err != nil {
				return fmt.Errorf("reading folders: %w", err)
			}
		}
	}
	return nil
}

// Add adds a file.
func (t *Tree) Add(name, text string) error {
	f := File{Path: name, Text: text}
	if path.Ext(name) == ".go" {
		parsed, err := parser.ParseFile(t.files, name, text, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parsing files: %w", err)
		}
		f.Go = parsed
	}
	t.Files = append(t.Files, f)
	return nil
}

func (t *Tree) addPackages(listed []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(listed))
	for {
		var p struct {
			ImportPath                               string
			Imports, TestImports, XTestImports, Deps []string
		}
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading packages: %w", err)
		}
		t.Packages = append(t.Packages, Package{
			Path: own(p.ImportPath), Imports: all(p.Imports), TestImports: all(append(p.TestImports, p.XTestImports...)), Deps: all(p.Deps),
		})
	}
}

// own is the path of a package relative to the module.
func own(path string) string {
	if path == Module {
		return ""
	}
	return strings.TrimPrefix(path, Module+"/")
}

// all marks the paths of the project with "./", so that they cannot be taken for those of another module.
func all(paths []string) []string {
	var out []string
	for _, p := range paths {
		if rest, ours := strings.CutPrefix(p, Module); ours {
			p = "." + rest
		}
		out = append(out, p)
	}
	return out
}

// at names a place in a file.
func (t *Tree) at(pos token.Pos) string {
	p := t.files.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

func output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}
