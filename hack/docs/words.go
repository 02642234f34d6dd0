// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

const apiDir = "api/infrastructure/v1alpha1"

// word is one constant of the API package with the meaning that its comment gives.
type word struct{ name, value, meaning string }

// group is one const block with its heading.
type group struct {
	title string
	words []word
}

// words reads the const blocks of a file of the API package. A constant without a comment is an error: a word without a
// meaning helps nobody.
func words(file string) ([]group, error) {
	path := filepath.Join(apiDir, file)
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var groups []group
	for _, decl := range parsed.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		g := group{title: oneLine(block.Doc)}
		for _, spec := range block.Specs {
			value := spec.(*ast.ValueSpec)
			literal, ok := value.Values[0].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				return nil, fmt.Errorf("reading %s in %s: %w", value.Names[0].Name, path, err)
			}
			meaning := oneLine(value.Doc)
			if meaning == "" {
				meaning = oneLine(value.Comment)
			}
			if meaning == "" {
				return nil, fmt.Errorf("%s in %s has no comment that says what it means", value.Names[0].Name, path)
			}
			g.words = append(g.words, word{name: value.Names[0].Name, value: text, meaning: strings.TrimPrefix(meaning, value.Names[0].Name+": ")})
		}
		if len(g.words) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func oneLine(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ")
}

func writeWords(b *bytes.Buffer, file, column string) error {
	groups, err := words(file)
	if err != nil {
		return err
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n## %s\n\n| %s | meaning |\n|---|---|\n", strings.TrimSuffix(g.title, "."), column)
		for _, w := range g.words {
			fmt.Fprintf(b, "| `%s` | %s |\n", w.value, strings.ReplaceAll(w.meaning, "|", "\\|"))
		}
	}
	return nil
}

func writeConditions(b *bytes.Buffer) error {
	fmt.Fprintln(b, "# Conditions\n\nEvery condition type and reason that Repave sets. Messages say the particulars; neither carries times.")
	return writeWords(b, "conditions.go", "word")
}

func writeEvents(b *bytes.Buffer) error {
	fmt.Fprintln(b, "# Events\n\nEvery reason of an Event that Repave records.")
	return writeWords(b, "events.go", "reason")
}

func writeLabels(b *bytes.Buffer) error {
	fmt.Fprintln(b, "# Labels, annotations and names\n\nEvery label, annotation, finalizer and name that Repave sets or reads.")
	return writeWords(b, "labels.go", "name")
}
