// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

const (
	mostLines         = 350 // of a file
	mostFunctionLines = 80
	licence           = "// Copyright 2026 The Repave Authors.\n// SPDX-License-Identifier: Apache-2.0\n"
)

// CheckPackageComments gives the packages of which nobody says what enters, what leaves and what they must not know.
func CheckPackageComments(t *Tree) []string {
	said := map[string]bool{}
	for _, f := range t.Files {
		if f.Go != nil && !f.Test() {
			said[f.Room()] = said[f.Room()] || f.Go.Doc != nil
		}
	}
	var wrong []string
	for room, ok := range said {
		if !ok {
			wrong = append(wrong, name(room)+" has no package comment: say what enters, what leaves and what it must not know")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// CheckLicence gives the Go files without the licence at their top; generated files have it too, or name their generator there.
func CheckLicence(t *Tree) []string {
	return each(t, func(f File) []string {
		if strings.HasPrefix(f.Text, licence) || f.Generated() {
			return nil
		}
		return []string{f.Path + " does not begin with the licence header"}
	})
}

// CheckLength gives files and functions that are too long to hold in the head.
func CheckLength(t *Tree) []string {
	return each(t, func(f File) []string {
		if f.Generated() {
			return nil
		}
		var wrong []string
		if lines := strings.Count(f.Text, "\n"); lines > mostLines {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, more than %d: cut it by subject", f.Path, lines, mostLines))
		}
		for _, declaration := range f.Go.Decls {
			fn, ok := declaration.(*ast.FuncDecl)
			if !ok || table(f, fn) {
				continue
			}
			if lines := t.files.Position(fn.End()).Line - t.files.Position(fn.Pos()).Line + 1; lines > mostFunctionLines {
				wrong = append(wrong, fmt.Sprintf("%s: %s has %d lines, more than %d: a function fits in the head", t.at(fn.Pos()), fn.Name.Name, lines, mostFunctionLines))
			}
		}
		return wrong
	})
}

// table says whether a function is a test: a table of cases is long and simple.
func table(f File, fn *ast.FuncDecl) bool { return f.Test() && strings.HasPrefix(fn.Name.Name, "Test") }

// banned are calls and values by package, for all files or for pure rooms.
type banned struct {
	names map[string][]string // by import path; none named: all
	why   string
}

var (
	bannedEverywhere = banned{map[string][]string{"time": {"Sleep"}}, "wait for a watch, a channel or a deadline"}
	bannedInPure     = banned{map[string][]string{
		"time":         {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"math/rand":    nil,
		"math/rand/v2": nil,
		"crypto/rand":  nil,
		"os":           nil,
	}, "a pure room gets the time, chance and the environment as values in its View"}
)

// chance may be had by a pure room for a reason.
var chance = map[string]bool{
	"metal/order": true, // makes the site's key, from which all else follows
}

// CheckCalls gives sleeps anywhere, and clocks, chance and environment in pure rooms.
func CheckCalls(t *Tree) []string {
	return each(t, func(f File) []string {
		wrong := bannedEverywhere.in(t, f)
		if slices.Contains(Pure, f.Room()) && !f.Test() && !chance[f.Room()] {
			wrong = append(wrong, bannedInPure.in(t, f)...)
		}
		return wrong
	})
}

func (b banned) in(t *Tree, f File) []string {
	local := map[string]string{} // import path by the name that the file gives it
	for _, i := range f.Go.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(path, "/v2"), "/")
		known := parts[len(parts)-1]
		if i.Name != nil {
			known = i.Name.Name
		}
		local[known] = path
	}
	var wrong []string
	ast.Inspect(f.Go, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		names, is := b.names[local[x.Name]]
		if is && (names == nil || slices.Contains(names, selector.Sel.Name)) {
			wrong = append(wrong, fmt.Sprintf("%s: %s.%s: %s", t.at(selector.Pos()), x.Name, selector.Sel.Name, b.why))
		}
		return true
	})
	return wrong
}

// CheckSkips gives tests that may be left out.
func CheckSkips(t *Tree) []string {
	return each(t, func(f File) []string {
		var wrong []string
		ast.Inspect(f.Go, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
				wrong = append(wrong, fmt.Sprintf("%s: %s: a test that may be left out proves nothing", t.at(call.Pos()), selector.Sel.Name))
			}
			return true
		})
		return wrong
	})
}

// CheckRBAC gives markers that would let a controller read Secrets everywhere.
func CheckRBAC(t *Tree) []string {
	return each(t, func(f File) []string {
		var wrong []string
		for _, group := range f.Go.Comments {
			for _, c := range group.List {
				if strings.Contains(c.Text, "+kubebuilder:rbac"+":") && strings.Contains(c.Text, "secrets") {
					wrong = append(wrong, t.at(c.Pos())+": a marker gives access to Secrets in every namespace: bind the Secret role in a namespace instead")
				}
			}
		}
		return wrong
	})
}

// each asks of every Go file.
func each(t *Tree, check func(File) []string) []string {
	var wrong []string
	for _, f := range t.Files {
		if f.Go != nil {
			wrong = append(wrong, check(f)...)
		}
	}
	return wrong
}
