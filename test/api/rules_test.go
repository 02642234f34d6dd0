// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shape is a spec that stands in several kinds.
type shape struct {
	base   string              // a spec that passes, as YAML
	places map[string][]string // path of the spec in each kind
}

var (
	hostShape = shape{places: map[string][]string{"RepaveHost": {"spec"}}}

	machineShape = shape{base: "image: {ref: registry.example/os@DIGEST}", places: map[string][]string{
		"RepaveMachine":             {"spec"},
		"RepaveMachineTemplate":     {"spec", "template", "spec"},
		"RepaveMachinePool":         {"spec", "template", "spec"},
		"RepaveMachinePoolTemplate": {"spec", "template", "spec", "template", "spec"},
	}}

	poolShape = shape{base: "template: {spec: {image: {ref: registry.example/os@DIGEST}}}", places: map[string][]string{
		"RepaveMachinePool": {"spec"}, "RepaveMachinePoolTemplate": {"spec", "template", "spec"},
	}}

	clusterShape = shape{places: map[string][]string{"RepaveCluster": {"spec"}, "RepaveClusterTemplate": {"spec", "template", "spec"}}}

	configShape = shape{places: map[string][]string{"RepaveConfig": {"spec"}, "RepaveConfigTemplate": {"spec", "template", "spec"}}}
)

// rule is a validation rule with specs that pass and specs that are refused. Each is YAML that is merged over the base of
// the shape; with a before, it is what before is changed to.
type rule struct {
	message string // what a person sees, or its beginning
	shape   shape
	before  string
	passes  []string
	refused []string
	// except names kinds in which the rule stands but cannot be reached, with the reason.
	except map[string]string
}

var rules = []rule{
	{
		message: "address must be an https URL (plain http only with tls.mode Insecure)", shape: hostShape,
		passes: []string{
			"bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}}",
			"bmc: {address: 'http://10.0.0.7', credentialsRef: {name: b}, tls: {mode: Insecure}}",
		},
		refused: []string{
			"bmc: {address: 'http://10.0.0.7', credentialsRef: {name: b}}",
			"bmc: {address: 'http://10.0.0.7', credentialsRef: {name: b}, tls: {mode: PinOnFirstUse}}",
			"bmc: {address: 'ipmi://10.0.0.7', credentialsRef: {name: b}, tls: {mode: Insecure}}",
		},
	},
	{
		message: "address must be a URL without user information", shape: hostShape,
		passes:  []string{"bmc: {address: 'https://[fd00::7]:8443/redfish/v1', credentialsRef: {name: b}}"},
		refused: []string{"bmc: {address: 'https://root:calvin@10.0.0.7', credentialsRef: {name: b}}", "bmc: {address: 'https://%zz', credentialsRef: {name: b}}"},
	},
	{
		message: "caRef goes with mode CA, and mode CA needs it", shape: hostShape,
		passes: []string{"bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}, tls: {mode: CA, caRef: {name: ca}}}"},
		refused: []string{
			"bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}, tls: {mode: CA}}",
			"bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}, tls: {mode: Insecure, caRef: {name: ca}}}",
		},
	},
	{
		message: "write the MAC in lower case with colons", shape: hostShape,
		passes:  []string{"interfaces: [{mac: '52:54:00:aa:00:01'}]"},
		refused: []string{"interfaces: [{mac: '52:54:00:AA:00:01'}]", "interfaces: [{mac: '52-54-00-aa-00-01'}]"},
	},
	{
		message: "deviceName must be a path under /dev", shape: hostShape,
		passes:  []string{"rootDevice: {deviceName: /dev/disk/by-path/p0}"},
		refused: []string{"rootDevice: {deviceName: sda}"},
	},
	{
		message: "pin the image by digest", shape: hostShape,
		passes: []string{"desired: {image: {ref: 'r.example:5000/os:v1@DIGEST'}, netboot: {image: {ref: 'r.example/n@DIGEST'}}}"},
		refused: []string{
			"desired: {image: {ref: 'r.example/os:v1'}}", "desired: {image: {ref: 'r.example/os@sha256:abc'}}",
			"desired: {netboot: {image: {ref: 'r.example/os:v1'}}}",
		},
	},
	{
		message: "the host serves another machine", shape: hostShape, before: "claimRef: {name: m1, uid: u1}",
		passes:  []string{"claimRef: {name: m1, uid: u2}", "claimRef: null"},
		refused: []string{"claimRef: {name: m2, uid: u1}"},
	},
	{
		message: "rebootCounter never goes backwards", shape: hostShape, before: "operations: {rebootCounter: 4, repaveCounter: 2}",
		passes:  []string{"operations: {rebootCounter: 4}", "operations: {rebootCounter: 5}"},
		refused: []string{"operations: {rebootCounter: 3}", "operations: {rebootCounter: null}", "operations: null"},
	},
	{
		message: "repaveCounter never goes backwards", shape: hostShape, before: "operations: {rebootCounter: 4, repaveCounter: 2}",
		passes:  []string{"operations: {repaveCounter: 2}", "operations: {repaveCounter: 9}"},
		refused: []string{"operations: {repaveCounter: 1}", "operations: {repaveCounter: null}", "operations: null"},
	},
	{
		message: "pin the image by digest", shape: machineShape,
		passes: []string{"image: {ref: 'r.example/os@DIGEST'}", "netboot: {image: {ref: 'r.example/n@DIGEST'}}"},
		refused: []string{
			"image: {ref: 'r.example/os:latest'}", "image: {ref: 'r.example/os@sha512:00'}",
			"netboot: {image: {ref: 'r.example/n:latest'}}", "image: {ref: 'r.example/o s@DIGEST'}",
		},
	},
	{
		message: "name an image (in place), a netboot image, or both", shape: machineShape,
		passes:  []string{"{image: null, netboot: {image: {ref: 'r.example/n@DIGEST'}}}", "netboot: {image: {ref: 'r.example/n@DIGEST'}}"},
		refused: []string{"{image: null, drain: {force: true}}"},
	},
	{
		message: "providerID never changes once it is set", shape: machineShape, before: "providerID: 'repave://ns/h/m'",
		passes:  []string{"drain: {force: true}", "providerID: 'repave://ns/h/m'"},
		refused: []string{"providerID: 'repave://ns/h2/m'", "providerID: null"},
		except: map[string]string{
			"RepaveMachineTemplate":     "a template never has a providerID: another rule refuses it",
			"RepaveMachinePool":         "a template of a pool never has a providerID: another rule refuses it",
			"RepaveMachinePoolTemplate": "a template of a pool never has a providerID: another rule refuses it",
		},
	},
	{
		message: "providerID and slot are written by the controllers", shape: shape{base: machineShape.base, places: map[string][]string{
			"RepaveMachineTemplate": machineShape.places["RepaveMachineTemplate"],
			"RepaveMachinePool":     machineShape.places["RepaveMachinePool"], "RepaveMachinePoolTemplate": machineShape.places["RepaveMachinePoolTemplate"],
		}},
		passes:  []string{"hostSelector: {matchLabels: {rack: a}}"},
		refused: []string{"providerID: 'repave://ns/h/m'", "slot: {digest: 'DIGEST'}"},
	},
	{
		message: "maxUnavailable must be a number of at least 1 or a percentage from 1% to 100%", shape: poolShape,
		passes:  []string{"rollout: {maxUnavailable: 1}", "rollout: {maxUnavailable: 1%}", "rollout: {maxUnavailable: 100%}"},
		refused: []string{"rollout: {maxUnavailable: 0}", "rollout: {maxUnavailable: 0%}", "rollout: {maxUnavailable: 101%}", "rollout: {maxUnavailable: '3'}"},
	},
	{
		message: "maxFailed must be a number of at least 1 or a percentage from 1% to 100%", shape: poolShape,
		passes:  []string{"rollout: {maxFailed: 7}", "rollout: {maxFailed: 25%}"},
		refused: []string{"rollout: {maxFailed: 0}", "rollout: {maxFailed: -1}", "rollout: {maxFailed: half}"},
	},
	{
		message: "an endpoint needs host and port", shape: clusterShape,
		passes:  []string{"controlPlaneEndpoint: {host: api.example, port: 6443}", "controlPlaneEndpoint: null"},
		refused: []string{"controlPlaneEndpoint: {host: api.example}", "controlPlaneEndpoint: {port: 6443}"},
	},
	{
		message: "controlPlaneEndpoint never changes once it is set", shape: clusterShape, before: "controlPlaneEndpoint: {host: api.example, port: 6443}",
		passes:  []string{"controlPlaneEndpoint: {host: api.example, port: 6443}"},
		refused: []string{"controlPlaneEndpoint: {host: other.example, port: 6443}", "controlPlaneEndpoint: null"},
	},
	{
		message: "path must be absolute and without ..", shape: configShape,
		passes:  []string{"files: [{path: /etc/motd, content: hi}]", "files: [{path: /etc/a..b}]"},
		refused: []string{"files: [{path: etc/motd}]", "files: [{path: /etc/../boot/x}]"},
	},
}

func TestRules(t *testing.T) {
	p := newPerson(t)
	for _, r := range rules {
		for _, kind := range slices.Sorted(maps.Keys(r.shape.places)) {
			if r.except[kind] != "" {
				continue
			}
			t.Run(kind+"/"+strings.Fields(r.message)[0], func(t *testing.T) {
				p := &person{WithT: NewWithT(t), t: t, namespace: p.namespace, client: p.client}
				for _, change := range r.passes {
					p.Expect(p.try(kind, r, change)).To(Succeed(), "%s", change)
				}
				for _, change := range r.refused {
					err := p.try(kind, r, change)
					p.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", change, err)
					p.Expect(err).To(MatchError(ContainSubstring(r.message)), "%s", change)
				}
			})
		}
	}
}

// try creates an object with a changed spec, or changes one that was created before, and saves neither change.
func (p *person) try(kind string, r rule, change string) error {
	base := fields(p.t, r.shape.base)
	before := merge(base, fields(p.t, r.before))
	o := p.object(kind, "{}")
	path := r.shape.places[kind]
	if r.before == "" {
		p.Expect(unstructured.SetNestedMap(o.Object, merge(base, fields(p.t, change)), path...)).To(Succeed())
		return p.client.Create(p.t.Context(), o, client.DryRunAll)
	}
	p.Expect(unstructured.SetNestedMap(o.Object, before, path...)).To(Succeed())
	p.Expect(p.client.Create(p.t.Context(), o)).To(Succeed())
	p.Expect(unstructured.SetNestedMap(o.Object, merge(before, fields(p.t, change)), path...)).To(Succeed())
	return p.client.Update(p.t.Context(), o, client.DryRunAll)
}

// TestEveryRuleHasACase: a rule of a CRD that no case above refuses and passes fails here.
func TestEveryRuleHasACase(t *testing.T) {
	covered := map[string]bool{}
	for _, r := range rules {
		if len(r.passes) == 0 || len(r.refused) == 0 {
			t.Errorf("%q: name a spec that passes and one that is refused", r.message)
		}
		for kind := range r.shape.places {
			covered[kind+": "+r.message] = true
		}
	}
	count := 0
	for kind, crd := range crds(t) {
		walk(schema(crd), "", func(path string, s *apiextensionsv1.JSONSchemaProps) {
			for _, v := range s.XValidations {
				count++
				if v.Message == "" {
					t.Errorf("%s%s: rule %s has no message: a person would see the expression", kind, path, v.Rule)
				}
				if !has(covered, kind+": ", v.Message) {
					t.Errorf("%s%s: no case for %q", kind, path, v.Message)
				}
			}
		})
	}
	if count == 0 {
		t.Error("no rules found: the walk over the schemas is broken")
	}
	t.Logf("%d rules", count)
	if has(covered, "RepaveHost: ", "a rule that nobody wrote a case for") {
		t.Error("every rule counts as covered: this test proves nothing")
	}
}

// has says whether a case covers a message; cases may name its beginning only.
func has(covered map[string]bool, kind, message string) bool {
	for key := range covered {
		if strings.HasPrefix(kind+message, key) {
			return true
		}
	}
	return false
}

func schema(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// walk visits a schema and all below it. Paths are like .spec.files[].path.
func walk(s *apiextensionsv1.JSONSchemaProps, path string, visit func(string, *apiextensionsv1.JSONSchemaProps)) {
	visit(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		inner := s.Properties[name]
		walk(&inner, fmt.Sprintf("%s.%s", path, name), visit)
	}
	if s.Items != nil && s.Items.Schema != nil {
		walk(s.Items.Schema, path+"[]", visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		walk(s.AdditionalProperties.Schema, path+"{}", visit)
	}
}
