// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"go/token"
	"slices"
	"strings"
	"testing"
)

// rules are all there are.
var rules = map[string]func(*Tree) []string{
	"rooms":            CheckRooms,
	"imports":          CheckImports,
	"package comments": CheckPackageComments,
	"licence":          CheckLicence,
	"length":           CheckLength,
	"calls":            CheckCalls,
	"skips":            CheckSkips,
	"Secrets":          CheckRBAC,
	"words":            CheckWords,
	"bootstrap words":  CheckBootstrapWords,
	"left-overs":       CheckLeftOvers,
	"machine paths":    CheckMachinePaths,
	"make":             CheckMake,
	"variables":        CheckVariables,
}

// violations are made-up trees that break a rule once, and what is to be said of it.
var violations = []struct {
	rule, name string
	breaks     func(*Tree) error
	says       string
}{
	{"rooms", "rooms", func(t *Tree) error {
		for _, room := range Rooms {
			if room != "agent/goal" {
				t.Packages = append(t.Packages, Package{Path: room})
			}
		}
		return nil
	}, "there is no package agent/goal"},
	{"package comments", "package comments", file("agent/x/x.go", licence+"\npackage x\n"), "agent/x has no package comment"},
	{"licence", "licence", file("a.go", "package a\n"), "a.go does not begin with the licence"},
	{"length", "length of files", file("a.go", "package a\n"+strings.Repeat("\n", mostLines)), "a.go has 351 lines"},
	{"length", "length of functions", file("a.go", "package a\nfunc f() {\n"+strings.Repeat("\n", mostFunctionLines)+"}\n"), "a.go:2: f has 82 lines"},
	{"calls", "sleep", file("a/a_test.go", "package a\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"), "a/a_test.go:3: time.Sleep"},
	{"calls", "clock in a pure room", file("agent/goal/a.go", "package a\nimport clock \"time\"\nvar now = clock.Now\n"), "agent/goal/a.go:3: clock.Now"},
	{"calls", "chance in a pure room", file("agent/goal/a.go", "package a\nimport \"math/rand/v2\"\nvar n = rand.Int()\n"), "rand.Int"},
	{"calls", "environment in a pure room", file("metal/lifecycle/a.go", "package a\nimport \"os\"\nvar n = os.Getenv(\"N\")\n"), "os.Getenv"},
	{"skips", "skips", file("a_test.go", "package a\nfunc f(t T) { t.Skipf(\"no\") }\n"), "a_test.go:2: Skipf"},
	{"Secrets", "Secrets in markers", file("a.go", "package a\n\n// +kubebuilder:rbac"+":groups=\"\",resources=secrets,verbs=get\nvar x = 1\n"), "a.go:3: a marker gives access to Secrets"},
	{"words", "words", file("api/a.go", "package a\nconst ReasonLost = \"Lost\"\n"), "ReasonLost is said nowhere outside api"},
	{"bootstrap words", "a type", file("bootstrap/config/a.go", "package a\nimport infrav1 \""+Module+"/api/infrastructure/v1alpha1\"\nvar x = infrav1.ReasonLost\nvar y infrav1.RepaveHost\n"), "bootstrap/config/a.go:4: RepaveHost"},
	{"left-overs", "left-overs", file("a.md", "one\nTO"+"DO: two\n"), "a.md:2"},
	{"machine paths", "machine paths", file("a.md", "see /ho"+"me/me/x\n"), "a.md:1"},
	{"make", "make targets", func(t *Tree) error {
		return addAll(t, "Makefile", "test: ## Test\nV := 1\n", "README.md", "Run `make test` and `make coffee`.\n")
	}, "make coffee"},
	{"imports", "direction", func(t *Tree) error {
		t.Packages = []Package{{Path: "agent/goal", Imports: []string{"os"}}}
		return nil
	}, "agent/goal imports os"},
	{"variables", "variables", func(t *Tree) error {
		return addAll(t, "docs/install.md", "| `KNOWN` | x |\n", "templates/a.yaml", "a: ${KNOWN:=1}\nb: ${NEW}\nc: ${NEW}\n")
	}, "the variable NEW is not in docs/install.md"},
	{"make", "no make targets", file("README.md", "nothing\n"), "names no make command"},
}

func file(name, text string) func(*Tree) error {
	return func(t *Tree) error { return t.Add(name, text) }
}

func addAll(t *Tree, pairs ...string) error {
	for pair := range slices.Chunk(pairs, 2) {
		if err := t.Add(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// TestRules holds the checkout to every rule.
func TestRules(t *testing.T) {
	tree, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range rules {
		t.Run(name, func(t *testing.T) {
			for _, wrong := range check(tree) {
				t.Error(wrong)
			}
		})
	}
}

// TestRulesCanFail shows every rule what it is there for.
func TestRulesCanFail(t *testing.T) {
	shown := map[string]bool{}
	for _, v := range violations {
		shown[v.rule] = true
		t.Run(v.rule+"/"+v.name, func(t *testing.T) {
			tree := &Tree{files: token.NewFileSet()}
			if err := v.breaks(tree); err != nil {
				t.Fatal(err)
			}
			wrong := rules[v.rule](tree)
			if len(wrong) != 1 || !strings.Contains(wrong[0], v.says) {
				t.Errorf("said %q, want one line with %q", wrong, v.says)
			}
		})
	}
	for name := range rules {
		if !shown[name] {
			t.Errorf("rule %q: no violation shows that it can fail", name)
		}
	}
}

// TestDirectionsCanFail breaks each direction once, and tries what it allows.
func TestDirectionsCanFail(t *testing.T) {
	for _, c := range []struct {
		from    Package
		why     string // part of the reason; empty: allowed
		comment string
	}{
		{Package{Path: "metal/lifecycle", Imports: []string{"k8s.io/client-go/rest"}}, "pure room", ""},
		{Package{Path: "controllers/rollout", Imports: []string{"os/exec"}}, "pure room", ""},
		{Package{Path: "agent/goal", Imports: []string{"./agent/step"}}, "pure room", "hands of its own side"},
		{Package{Path: "controllers/update", Imports: []string{"./api/infrastructure/v1alpha1", "k8s.io/apimachinery/pkg/util/intstr", "time"}}, "", ""},
		{Package{Path: "metal/netboot", Deps: []string{"./agent/facts"}}, "meet in the types", "through another"},
		{Package{Path: "agent", Imports: []string{"./metal/order"}}, "the agent is on a host", ""},
		{Package{Path: "agent/step", TestImports: []string{"./controllers/update"}}, "the agent is on a host", "in a test"},
		{Package{Path: "cmd/repave-agent", Deps: []string{"./metal/redfish"}}, "what runs on every host", "through another"},
		{Package{Path: "controllers/machine", Imports: []string{"./api/bootstrap/v1alpha1"}}, "infrastructure and bootstrap", ""},
		{Package{Path: "bootstrap/config", Imports: []string{"./controllers/machine"}}, "infrastructure and bootstrap", ""},
		{Package{Path: "api/order/v1alpha1", Imports: []string{"github.com/spf13/cobra"}}, "types", ""},
		{Package{Path: "api/infrastructure/v1alpha1", Imports: []string{"strings", "k8s.io/api/core/v1", "sigs.k8s.io/cluster-api/api/core/v1beta2"}}, "", ""},
		{Package{Path: "", Deps: []string{"./test/lab"}}, "what is shipped", ""},
		{Package{Path: "metal/redfish", TestImports: []string{"./test/registry", "./metal/redfish/virtual"}}, "", "tests may"},
		{Package{Path: "controllers/host", Imports: []string{"./metal/redfish/virtual"}}, "virtual BMC", ""},
		{Package{Path: "cmd/virtual-bmc", Imports: []string{"./metal/redfish/virtual"}}, "", ""},
		{Package{Path: "test/sim", Imports: []string{"./metal/redfish/virtual", "./agent", "./metal/netboot"}}, "", ""},
	} {
		wrong := CheckImports(&Tree{Packages: []Package{c.from}})
		if c.why == "" && len(wrong) > 0 || c.why != "" && (len(wrong) != 1 || !strings.Contains(wrong[0], c.why)) {
			t.Errorf("%+v %s: said %q, want %q", c.from, c.comment, wrong, c.why)
		}
	}
}
