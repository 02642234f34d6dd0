// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
)

const (
	root    = "../.."
	crdsDir = root + "/config/crd"
)

var shared = lab.NewShared(lab.Options{CRDDirs: []string{crdsDir}}, installClusterAPI)

// installClusterAPI installs Cluster API's own CRDs: samples hold its objects too.
func installClusterAPI(cp *lab.ControlPlane, ctx context.Context) error {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return fmt.Errorf("finding module cluster-api: %w", err)
	}
	return cp.InstallCRDs(ctx, filepath.Join(strings.TrimSpace(string(dir)), "core", "config", "crd", "bases"))
}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// person talks to the API server as an admin, in a namespace of their own.
type person struct {
	*WithT
	t         testing.TB
	namespace string
	client    client.Client
}

func newPerson(t testing.TB) *person {
	t.Helper()
	g := NewWithT(t)
	cp := shared.ControlPlane(t)
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, infrav1.AddToScheme, bootstrapv1.AddToScheme} {
		g.Expect(add(s)).To(Succeed())
	}
	c, err := client.New(cp.RESTConfig(), client.Options{Scheme: s})
	g.Expect(err).NotTo(HaveOccurred())
	return &person{WithT: g, t: t, namespace: cp.Namespace(t), client: c}
}

// crds are the CRDs of config/crd by kind.
func crds(t testing.TB) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(crdsDir + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in %s (%v)", crdsDir, err)
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		found[crd.Spec.Names.Kind] = crd
	}
	return found
}

// object is a new object of a kind with content (YAML of its other fields).
func (p *person) object(kind, content string) *unstructured.Unstructured {
	p.t.Helper()
	o := &unstructured.Unstructured{Object: fields(p.t, content)}
	group := infrav1.GroupVersion
	if strings.HasPrefix(kind, "RepaveConfig") {
		group = bootstrapv1.GroupVersion
	}
	o.SetGroupVersionKind(group.WithKind(kind))
	o.SetNamespace(p.namespace)
	o.SetGenerateName("it-")
	return o
}

// fields reads YAML; "DIGEST" stands for a whole digest.
func fields(t testing.TB, content string) map[string]any {
	t.Helper()
	out := map[string]any{}
	content = strings.ReplaceAll(content, "DIGEST", "sha256:"+strings.Repeat("0a", 32))
	if err := yaml.Unmarshal([]byte(content), &out); err != nil {
		t.Fatalf("reading %s: %v", content, err)
	}
	return out
}

// merge is a JSON merge patch: null removes.
func merge(base, patch map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			inner, _ := out[key].(map[string]any)
			out[key] = merge(inner, v)
		default:
			out[key] = v
		}
	}
	return out
}
