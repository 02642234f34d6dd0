// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const conditions = `conditions: [{type: Ready, status: "True", reason: R, message: "", lastTransitionTime: "2026-05-04T12:00:00Z"}]`

// full are objects in which every field with an enumeration is there, by kind.
var full = map[string]string{
	"RepaveHost": `
spec:
  bmc: {address: "https://10.0.0.7", credentialsRef: {name: b}, tls: {mode: Insecure}}
  desired: {state: Staged}
status:
  phase: Ready
  power: "On"
  operation: {id: a, kind: Reboot, method: Power, step: Proving, attempt: 1, startedAt: "2026-05-04T12:00:00Z", stepAt: "2026-05-04T12:00:00Z", deadline: "2026-05-04T12:00:00Z"}
  history: [{id: a, kind: Reboot, outcome: Failed, startedAt: "2026-05-04T12:00:00Z"}]
  netboot: {image: {state: Ready}}
  agent: {activity: Idle, failure: {digest: d, stage: Boot, reason: R}, addresses: [{type: InternalIP, address: 10.0.0.8}]}
  ` + conditions,
	"RepaveMachine": `
spec: {image: {ref: r.example/os@DIGEST}}
status:
  addresses: [{type: InternalIP, address: 10.0.0.8}]
  update: {digest: d, step: Staged, stepAt: "2026-05-04T12:00:00Z"}
  ` + conditions,
	"RepaveMachinePool": `
spec: {template: {spec: {image: {ref: r.example/os@DIGEST}}}}
status:
  ` + conditions,
	"RepaveCluster": `
spec: {}
status:
  ` + conditions,
	"RepaveConfig": `
spec: {format: Agent}
status:
  ` + conditions,
	"RepaveMachineTemplate":     "spec: {template: {spec: {image: {ref: r.example/os@DIGEST}}}}",
	"RepaveMachinePoolTemplate": "spec: {template: {spec: {template: {spec: {image: {ref: r.example/os@DIGEST}}}}}}",
	"RepaveClusterTemplate":     "spec: {template: {spec: {}}}",
	"RepaveConfigTemplate":      "spec: {template: {spec: {format: Agent}}}",
}

// needs is what a value needs beside it.
var needs = map[string]string{
	"RepaveHost.spec.bmc.tls.mode=CA": "spec: {bmc: {tls: {caRef: {name: ca}}}}",
}

// TestEnumerations writes every value of every enumeration of every CRD, and one that is none of them.
func TestEnumerations(t *testing.T) {
	p := newPerson(t)
	count := 0
	for kind, crd := range crds(t) {
		walk(schema(crd), "", func(path string, s *apiextensionsv1.JSONSchemaProps) {
			if len(s.Enum) == 0 {
				return
			}
			count++
			t.Run(kind+path, func(t *testing.T) {
				p := &person{WithT: NewWithT(t), t: t, namespace: p.namespace, client: p.client}
				for _, raw := range s.Enum {
					var value string
					p.Expect(json.Unmarshal(raw.Raw, &value)).To(Succeed())
					p.Expect(p.write(kind, path, value)).To(Succeed(), "%s", value)
				}
				p.Expect(p.write(kind, path, "Nonsense")).To(MatchError(And(
					ContainSubstring(strings.ReplaceAll(strings.TrimPrefix(path, "."), "[]", "[0]")), ContainSubstring("Unsupported value: \"Nonsense\""))))
			})
		})
	}
	if count == 0 {
		t.Error("no enumerations found: the walk over the schemas is broken")
	}
}

// write creates the full object of a kind, and then tries to set one of its fields.
func (p *person) write(kind, path, value string) error {
	p.t.Helper()
	content, known := full[kind]
	p.Expect(known).To(BeTrue(), "no full object of kind %s", kind)
	o := p.object(kind, content)
	status := o.Object["status"]
	p.Expect(p.client.Create(p.t.Context(), o)).To(Succeed())
	o.Object = merge(o.Object, fields(p.t, needs[kind+path+"="+value]))
	if !strings.HasPrefix(path, ".status") {
		p.set(o.Object, path, value)
		return p.client.Update(p.t.Context(), o, client.DryRunAll)
	}
	o.Object["status"] = status
	p.set(o.Object, path, value)
	return p.client.Status().Update(p.t.Context(), o, client.DryRunAll)
}

// set sets a field that is there; [] means the first element.
func (p *person) set(object map[string]any, path, value string) {
	p.t.Helper()
	parts := strings.Split(strings.TrimPrefix(path, "."), ".")
	for i, part := range parts {
		name, isList := strings.CutSuffix(part, "[]")
		_, there := object[name]
		p.Expect(there).To(BeTrue(), "the full object has no %s", path)
		if i == len(parts)-1 {
			object[name] = value
			return
		}
		next := object[name]
		if isList {
			next = next.([]any)[0]
		}
		object = next.(map[string]any)
	}
}
