// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestDefaults: what a person leaves out is what they get told.
func TestDefaults(t *testing.T) {
	p := newPerson(t)
	for _, c := range []struct {
		name, kind, given, want string
	}{
		{"BMC", "RepaveHost", "{bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}}}",
			"{online: true, bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}, tls: {mode: PinOnFirstUse}}}"},
		{"BMC with tls of which nothing is said", "RepaveHost", "{bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}, tls: {}}}",
			"{online: true, bmc: {address: 'https://10.0.0.7', credentialsRef: {name: b}, tls: {mode: PinOnFirstUse}}}"},
		{"host without anything", "RepaveHost", "{}", "{online: true}"},
		{"host that is to be off", "RepaveHost", "{online: false}", "{online: false}"},
		{"wish", "RepaveHost", "{desired: {image: {ref: r.example/os@DIGEST}}}", "{online: true, desired: {state: Staged, image: {ref: r.example/os@DIGEST}}}"},
		{"rollout", "RepaveMachinePool", "{template: {spec: {image: {ref: r.example/os@DIGEST}}}}",
			"{rollout: {maxUnavailable: 1, maxFailed: 1}, template: {spec: {image: {ref: r.example/os@DIGEST}}}}"},
		{"part of a rollout", "RepaveMachinePool", "{rollout: {maxUnavailable: 20%}, template: {spec: {image: {ref: r.example/os@DIGEST}}}}",
			"{rollout: {maxUnavailable: 20%, maxFailed: 1}, template: {spec: {image: {ref: r.example/os@DIGEST}}}}"},
		{"bootstrap", "RepaveConfig", "{files: [{path: /etc/motd}]}", "{format: Agent, files: [{path: /etc/motd, permissions: '0644'}]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &person{WithT: NewWithT(t), t: t, namespace: p.namespace, client: p.client}
			o := p.object(c.kind, "{}")
			p.Expect(unstructured.SetNestedMap(o.Object, fields(t, c.given), "spec")).To(Succeed())
			p.Expect(p.client.Create(t.Context(), o)).To(Succeed())
			// Numbers come back as integers and are written as floats in YAML: compare what is printed.
			want := &unstructured.Unstructured{Object: map[string]any{"kind": "x", "spec": fields(t, c.want)}}
			got := &unstructured.Unstructured{Object: map[string]any{"kind": "x", "spec": o.Object["spec"]}}
			if diff := cmp.Diff(printed(t, want), printed(t, got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func printed(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
