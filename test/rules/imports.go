// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Rooms are the packages that the design names. One that is missing fails: a rule over an empty room keeps nothing.
var Rooms = []string{
	"", "agent", "agent/facts", "agent/goal", "agent/host", "agent/identity", "agent/journal", "agent/report", "agent/step",
	"api/bootstrap/v1alpha1", "api/infrastructure/v1alpha1", "api/order/v1alpha1",
	"bootstrap/config", "bootstrap/render",
	"cmd/kubectl-repave", "cmd/repave-agent", "cmd/virtual-bmc",
	"controllers/cluster", "controllers/drain", "controllers/host", "controllers/identity", "controllers/machine",
	"controllers/placement", "controllers/pool", "controllers/rollout", "controllers/update",
	"metal/image", "metal/lifecycle", "metal/netboot", "metal/order", "metal/redfish", "metal/redfish/virtual",
	"test/api", "test/demo", "test/lab", "test/registry", "test/rules", "test/sim",
}

// Pure are the rooms that decide: values in, values out.
var Pure = []string{
	"controllers/placement", "controllers/rollout", "controllers/update", "metal/lifecycle", "metal/order", "agent/goal", "bootstrap/render",
}

// Direction says what some packages must not import. Entries that end in / mean everything below; the project's own begin
// with ./ where they are imported.
type Direction struct {
	From    []string
	Never   []string
	But     []string // of Never, what may be imported all the same; with Never "*", all that may be
	Closure bool     // neither directly nor through others
	Tests   bool     // their tests neither
	Why     string
}

// Directions are those of the design.
var Directions = []Direction{
	{
		From:  Pure,
		Never: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "k8s.io/klog/", "net/http", "os", "os/", "log", "log/", "syscall", "./"},
		But:   append([]string{"./api/"}, prefixed(Pure)...),
		Why:   "a pure room decides by values alone; whoever looks and acts hands them in",
	},
	{From: []string{"metal/"}, Never: []string{"./agent/", "./agent"}, Closure: true, Why: "controller and agent meet in the types of api only"},
	{From: []string{"agent/", "agent"}, Never: []string{"./metal/", "./controllers/", "./bootstrap/"}, Closure: true, Tests: true, Why: "the agent is on a host and knows wishes and facts, not who writes or reads them"},
	{From: []string{"cmd/repave-agent"}, Never: []string{"./metal/", "./controllers/", "./bootstrap/"}, Closure: true, Tests: true, Why: "what runs on every host holds neither BMC code nor controllers"},
	{From: []string{"controllers/"}, Never: []string{"./bootstrap/", "./api/bootstrap/"}, Closure: true, Why: "infrastructure and bootstrap meet in the contract of Cluster API only"},
	// The infrastructure API holds the words of all conditions; CheckBootstrapWords sees to it that bootstrap takes no more of it.
	{From: []string{"bootstrap/"}, Never: []string{"./controllers/", "./metal/", "./agent/"}, Closure: true, Why: "infrastructure and bootstrap meet in the contract of Cluster API only"},
	{
		From: []string{"api/"}, Never: []string{"*"},
		But: []string{"./api/", "k8s.io/apimachinery/", "k8s.io/api/", "sigs.k8s.io/cluster-api/api/"},
		Why: "whoever imports the types must not get more than types",
	},
	{From: []string{"", "agent/", "agent", "api/", "bootstrap/", "cmd/", "controllers/", "metal/", "version"}, Never: []string{"./test/"}, Closure: true, Why: "what is shipped holds nothing that is for tests"},
	{
		From:  []string{"", "agent/", "agent", "api/", "bootstrap/", "cmd/kubectl-repave/", "cmd/kubectl-repave", "cmd/repave-agent", "controllers/", "metal/image", "metal/lifecycle", "metal/netboot", "metal/order", "metal/redfish"},
		Never: []string{"./metal/redfish/virtual"}, Closure: true,
		Why: "a virtual BMC is for tests and for the program virtual-bmc",
	},
}

func prefixed(rooms []string) []string {
	var out []string
	for _, room := range rooms {
		out = append(out, "./"+room)
	}
	return out
}

// CheckImports gives every import that goes the wrong way.
func CheckImports(t *Tree) []string {
	var wrong []string
	for _, d := range Directions {
		for _, p := range t.Packages {
			if !matches(d.From, p.Path) {
				continue
			}
			imports := slices.Clone(p.Imports)
			if d.Closure {
				imports = append(imports, p.Deps...)
			}
			if d.Tests {
				imports = append(imports, p.TestImports...)
			}
			slices.Sort(imports)
			for _, i := range slices.Compact(imports) {
				if d.forbids(i) {
					wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", name(p.Path), i, d.Why))
				}
			}
		}
	}
	return wrong
}

func (d Direction) forbids(path string) bool {
	if slices.Contains(d.Never, "*") {
		first, _, _ := strings.Cut(path, "/")
		standard := !strings.Contains(first, ".") // no module of the standard library has a dot in its first element
		return !standard && !matches(d.But, path)
	}
	return matches(d.Never, path) && !matches(d.But, path)
}

func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return p == path || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
	})
}

func name(path string) string {
	if path == "" {
		return "main"
	}
	return path
}

// CheckRooms gives the rooms of the design that are not there.
func CheckRooms(t *Tree) []string {
	var missing []string
	for _, room := range Rooms {
		if !slices.ContainsFunc(t.Packages, func(p Package) bool { return p.Path == room }) {
			missing = append(missing, fmt.Sprintf("there is no package %s: the rules over it keep nothing", name(room)))
		}
	}
	return missing
}
