// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		name, manifest string
		want           []string
		wantError      string
	}{
		{name: "nothing", manifest: ""},
		{name: "empty documents and comments", manifest: "---\n# nothing\n---\n"},
		{
			name:     "several documents in order",
			manifest: "{apiVersion: v1, kind: Secret, metadata: {name: b}}\n---\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a}}\n",
			want:     []string{"b", "a"},
		},
		{name: "no kind", manifest: "{apiVersion: v1, metadata: {name: a}}", wantError: "document 1"},
		{name: "no name", manifest: "{apiVersion: v1, kind: Secret}", wantError: "document 1"},
		{
			name:      "not YAML in the second document",
			manifest:  "{apiVersion: v1, kind: Secret, metadata: {name: a}}\n---\n{",
			wantError: "document 2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := decode([]byte(tt.manifest))
			if tt.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantError) {
					t.Fatalf("error %v, want one that names %q", err, tt.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, object := range objects {
				names = append(names, object.GetName())
			}
			if diff := cmp.Diff(tt.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestApplyServesACRDBeforeItsObjects(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	manifest := widgetCRD("gadgets", "Gadget") + "---\n" + widget("Gadget", "g1")
	g.Expect(c.Apply(t.Context(), []byte(manifest))).To(Succeed())
	g.Expect(c.Apply(t.Context(), []byte(manifest))).To(Succeed(), "again is allowed")
}

func TestApplyTakesOverFieldsAndDefaultsTheNamespace(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	theirs := &corev1.ConfigMap{Data: map[string]string{"k": "theirs"}}
	theirs.Name, theirs.Namespace = "contested", corev1.NamespaceDefault
	g.Expect(c.client.Create(t.Context(), theirs)).To(Succeed())
	g.Expect(c.Apply(t.Context(), []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: contested}, data: {k: ours}}"))).To(Succeed())
	found := &corev1.ConfigMap{}
	g.Expect(c.client.Get(t.Context(), client.ObjectKeyFromObject(theirs), found)).To(Succeed())
	g.Expect(found.Data).To(HaveKeyWithValue("k", "ours"))
}

func TestApplyNamesWhatIsRefused(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	err := c.Apply(t.Context(), []byte("{apiVersion: nowhere/v1, kind: Thing, metadata: {name: x}}"))
	g.Expect(err).To(MatchError(ContainSubstring("applying Thing x")))
}

func TestFolderWithoutCRDsIsAnError(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	empty := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(empty, "widget.yaml"), []byte(widget("Widget", "w")), 0o600)).To(Succeed())
	g.Expect(c.InstallCRDs(t.Context(), empty)).To(MatchError(ContainSubstring(empty)))
}

// widgetCRD is a namespaced kind without any field.
func widgetCRD(plural, kind string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + `.lab.test}
spec:
  group: lab.test
  scope: Namespaced
  names: {plural: ` + plural + `, kind: ` + kind + `}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`
}

func widget(kind, name string) string {
	return "{apiVersion: lab.test/v1, kind: " + kind + ", metadata: {name: " + name + "}}\n"
}
