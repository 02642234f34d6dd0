// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// The expressions are written so that they do not match themselves.
var (
	leftOver    = regexp.MustCompile(`\b(TO\x44O|FI\x58ME)\b`)
	machinePath = regexp.MustCompile(`(^|[^\w.~*-])/(wo\x72k|ro\x6ft|ho\x6de|Us\x65rs)/\w`)
	makeTarget  = regexp.MustCompile(`^([a-zA-Z][\w-]*):([^=]|$)`)
	variable    = regexp.MustCompile(`\$\{([A-Z][A-Z_]*)[:}]`)
	makeCommand = regexp.MustCompile("(?m)(?:`|^)make ([a-z][a-z-]*)")
)

// CheckLeftOvers gives what somebody meant to do later.
func CheckLeftOvers(t *Tree) []string {
	return lines(t, leftOver, "do it, or say in an issue that it is not done")
}

// CheckMachinePaths gives paths of one person's machine.
func CheckMachinePaths(t *Tree) []string {
	return lines(t, machinePath, "this path is on one machine only")
}

func lines(t *Tree, wrong *regexp.Regexp, why string) []string {
	var found []string
	for _, f := range t.Files {
		if strings.HasSuffix(f.Path, ".sum") || strings.ContainsRune(f.Text, 0) {
			continue
		}
		number := 0
		for line := range strings.Lines(f.Text) {
			number++
			if wrong.MatchString(line) {
				found = append(found, fmt.Sprintf("%s:%d: %s: %s", f.Path, number, strings.TrimSpace(line), why))
			}
		}
	}
	return found
}

// CheckMake gives commands of the documentation and of CI that make does not know.
func CheckMake(t *Tree) []string {
	targets := map[string]bool{}
	for _, f := range t.Files {
		if f.Path != "Makefile" && path.Ext(f.Path) != ".mk" {
			continue
		}
		for line := range strings.Lines(f.Text) {
			if m := makeTarget.FindStringSubmatch(line); m != nil {
				targets[m[1]] = true
			}
		}
	}
	var wrong []string
	commands := 0
	for _, f := range t.Files {
		if path.Ext(f.Path) != ".md" && !strings.HasPrefix(f.Path, ".ci/") {
			continue
		}
		for _, m := range makeCommand.FindAllStringSubmatch(f.Text, -1) {
			commands++
			if !targets[m[1]] {
				wrong = append(wrong, fmt.Sprintf("%s: make %s: the Makefile has no such target", f.Path, m[1]))
			}
		}
	}
	if commands == 0 {
		wrong = append(wrong, "README.md names no make command: the rule over them keeps nothing")
	}
	return wrong
}

// installPage says what every variable of the manifests means.
const installPage = "docs/install.md"

// CheckVariables gives variables of the manifests that the documentation does not explain.
func CheckVariables(t *Tree) []string {
	explained := ""
	for _, f := range t.Files {
		if f.Path == installPage {
			explained = f.Text
		}
	}
	var wrong []string
	known := map[string]bool{}
	for _, f := range t.Files {
		if path.Ext(f.Path) != ".yaml" || !strings.HasPrefix(f.Path, "config/") && !strings.HasPrefix(f.Path, "templates/") {
			continue
		}
		for _, m := range variable.FindAllStringSubmatch(f.Text, -1) {
			if !known[m[1]] && !strings.Contains(explained, "`"+m[1]+"`") {
				wrong = append(wrong, fmt.Sprintf("%s: the variable %s is not in %s", f.Path, m[1], installPage))
			}
			known[m[1]] = true
		}
	}
	return wrong
}
