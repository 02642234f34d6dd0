// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// saidElsewhere are words of api that others write by the same name.
var saidElsewhere = map[string]bool{
	// Set by util/paused of Cluster API, which brings its own constants.
	"ConditionPaused": true, "ReasonPaused": true, "ReasonNotPaused": true,
}

// CheckWords gives conditions, reasons and events of api that nothing says: a word in the reference that nobody ever sees.
func CheckWords(t *Tree) []string {
	declared, used := map[string]token.Pos{}, map[string]bool{}
	for _, f := range t.Files {
		switch {
		case f.Go == nil || f.Test():
		case strings.HasPrefix(f.Path, "api/"):
			for _, declaration := range f.Go.Decls {
				constants(declaration, func(n *ast.Ident) { declared[n.Name] = n.Pos() })
			}
		default:
			ast.Inspect(f.Go, func(n ast.Node) bool {
				if selector, ok := n.(*ast.SelectorExpr); ok {
					used[selector.Sel.Name] = true
				}
				return true
			})
		}
	}
	var wrong []string
	for word, pos := range declared {
		if !used[word] && !saidElsewhere[word] {
			wrong = append(wrong, fmt.Sprintf("%s: %s is said nowhere outside api", t.at(pos), word))
		}
	}
	slices.Sort(wrong)
	return wrong
}

func constants(declaration ast.Decl, see func(*ast.Ident)) {
	d, ok := declaration.(*ast.GenDecl)
	if !ok || d.Tok != token.CONST {
		return
	}
	for _, spec := range d.Specs {
		for _, n := range spec.(*ast.ValueSpec).Names {
			if isWord(n.Name) {
				see(n)
			}
		}
	}
}

// CheckBootstrapWords gives what bootstrap takes from the infrastructure API beside the words of conditions. The two meet in the
// contract of Cluster API only, but there is one list of words.
func CheckBootstrapWords(t *Tree) []string {
	return each(t, func(f File) []string {
		local := importName(f, Module+"/api/infrastructure/v1alpha1")
		if !strings.HasPrefix(f.Path, "bootstrap/") || local == "" {
			return nil
		}
		var wrong []string
		ast.Inspect(f.Go, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == local && !isWord(selector.Sel.Name) {
				wrong = append(wrong, fmt.Sprintf("%s: %s is of the infrastructure API: bootstrap takes words of conditions from it and nothing else", t.at(selector.Pos()), selector.Sel.Name))
			}
			return true
		})
		return wrong
	})
}

// importName is the name that a file gives to an import, "" where it does not import it.
func importName(f File, path string) string {
	for _, i := range f.Go.Imports {
		if i.Path.Value != strconv.Quote(path) {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

// isWord says whether a constant of api is a word that people see.
func isWord(name string) bool {
	return strings.HasPrefix(name, "Reason") || strings.HasPrefix(name, "Condition") || strings.HasPrefix(name, "Event")
}
