// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// manifestDirs hold objects that a real API server must accept as they are.
var manifestDirs = []string{"config/admission", "config/rbac", "config/samples"}

// TestManifestsAreAccepted applies every object as a dry run, with unknown fields refused. A sample that a person copies must
// work, and a policy with a wrong expression is refused by the API server only.
func TestManifestsAreAccepted(t *testing.T) {
	p := newPerson(t)
	count := 0
	for _, dir := range manifestDirs {
		for _, file := range manifests(t, filepath.Join(root, dir)) {
			for _, o := range documents(t, file) {
				count++
				p.accepts(file, o)
			}
		}
	}
	if count == 0 {
		t.Error("no objects found: the folders are wrong")
	}
	t.Logf("%d objects", count)
	p.Expect(p.client.Create(t.Context(), p.object("RepaveHost", "spec: {onlin: true}"), client.DryRunAll, client.FieldValidation("Strict"))).
		To(MatchError(ContainSubstring("unknown field")), "or else this test proves nothing")
}

// accepts applies one object in the namespace of the test.
func (p *person) accepts(file string, o *unstructured.Unstructured) {
	p.t.Helper()
	if namespaced, err := p.client.IsObjectNamespaced(o); apierrors.IsNotFound(err) {
		p.t.Errorf("%s: %s %s: %v", file, o.GetKind(), o.GetName(), err)
		return
	} else if err == nil && namespaced {
		o.SetNamespace(p.namespace)
	}
	if err := p.client.Create(p.t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		p.t.Errorf("%s: %s %s: %v", file, o.GetKind(), o.GetName(), err)
	}
}

// manifests are the YAML files below a folder; none where it does not exist. What only kustomize reads is left out.
func manifests(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case filepath.Ext(path) == ".yaml" && entry.Name() != "kustomization.yaml":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("reading %s: %v", file, err)
		case len(o.Object) > 0 && o.GetKind() != "Kustomization":
			objects = append(objects, o)
		}
	}
}
