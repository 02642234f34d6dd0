// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

// certificate has the form of one; nothing here reads further.
const certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"

const token = "abc123.0123456789abcdef"

var cluster = Cluster{Name: "c1", Server: "https://10.0.0.1:6443", CA: []byte(certificate)}

func TestGolden(t *testing.T) {
	for name, spec := range map[string]bootstrapv1.RepaveConfigSpec{
		"empty": {},
		"full": {
			Format: bootstrapv1.FormatAgent,
			Kubelet: bootstrapv1.Kubelet{
				NodeLabels: map[string]string{"rack": "r1", "example.com/a": "b", "topology.kubernetes.io/zone": "z1"},
				Taints: []corev1.Taint{
					{Key: "example.com/gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{}},
					{Key: "example.com/gpu", Effect: corev1.TaintEffectNoExecute},
				},
			},
			Files: []bootstrapv1.File{{Path: "/etc/motd", Content: "<hello> & welcome\n", Permissions: "0644"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Agent(spec, cluster, token)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
			if Token(got) != token {
				t.Errorf("Token does not find the token again")
			}
		})
	}
}

func TestInvalidSpec(t *testing.T) {
	labels := func(key, value string) bootstrapv1.RepaveConfigSpec {
		return bootstrapv1.RepaveConfigSpec{Kubelet: bootstrapv1.Kubelet{NodeLabels: map[string]string{key: value}}}
	}
	taints := func(taints ...corev1.Taint) bootstrapv1.RepaveConfigSpec {
		return bootstrapv1.RepaveConfigSpec{Kubelet: bootstrapv1.Kubelet{Taints: taints}}
	}
	for _, test := range []struct {
		name  string
		spec  bootstrapv1.RepaveConfigSpec
		field string // "" where nothing is wrong
	}{
		{"no domain", labels("rack", "r1"), ""},
		{"another domain", labels("example.com/rack", "r1"), ""},
		{"a domain that only looks like Kubernetes", labels("notkubernetes.io/rack", "r1"), ""},
		{"zone", labels("topology.kubernetes.io/zone", "z"), ""},
		{"below node.kubernetes.io", labels("a.node.kubernetes.io/b", "c"), ""},
		{"kubelet.kubernetes.io", labels("kubelet.kubernetes.io/b", "c"), ""},
		{"role", labels("node-role.kubernetes.io/worker", ""), "kubelet.nodeLabels[node-role.kubernetes.io/worker]"},
		{"restricted", labels("node-restriction.kubernetes.io/a", ""), "kubelet.nodeLabels[node-restriction.kubernetes.io/a]"},
		{"kubernetes.io", labels("kubernetes.io/a", ""), "kubelet.nodeLabels[kubernetes.io/a]"},
		{"k8s.io", labels("x.k8s.io/a", ""), "kubelet.nodeLabels[x.k8s.io/a]"},
		{"Cluster API's", labels("node.cluster.x-k8s.io/a", ""), ""},
		{"hostname", labels("kubernetes.io/hostname", "h"), "kubelet.nodeLabels[kubernetes.io/hostname]"},
		{"malformed key", labels("a b", ""), "kubelet.nodeLabels[a b]"},
		{"malformed value", labels("a", "b c"), "kubelet.nodeLabels[a]"},
		{"format", bootstrapv1.RepaveConfigSpec{Format: "CloudConfig"}, "format"},
		{"taint", taints(corev1.Taint{Key: "a", Effect: "NoExecute"}), ""},
		{"taint without effect", taints(corev1.Taint{Key: "a"}), "kubelet.taints[0]"},
		{"taint without key", taints(corev1.Taint{Effect: "NoExecute"}), "kubelet.taints[0]"},
		{"taint with a malformed value", taints(corev1.Taint{Key: "a", Value: "b c", Effect: "NoExecute"}), "kubelet.taints[0]"},
		{"taint twice", taints(corev1.Taint{Key: "a", Effect: "NoExecute"}, corev1.Taint{Key: "a", Value: "b", Effect: "NoExecute"}), "kubelet.taints[1]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Agent(test.spec, cluster, token)
			var invalid *InvalidSpecError
			field := ""
			if errors.As(err, &invalid) {
				field = invalid.Field
			} else if err != nil {
				t.Fatalf("%v is not an InvalidSpecError", err)
			}
			if field != test.field {
				t.Errorf("field %q, want %q (%v)", field, test.field, err)
			}
		})
	}
}

func TestBadFacts(t *testing.T) {
	for name, bad := range map[string]struct {
		cluster Cluster
		token   string
	}{
		"name":        {Cluster{Server: cluster.Server, CA: cluster.CA}, token},
		"server":      {Cluster{Name: "c1", Server: "10.0.0.1:6443", CA: cluster.CA}, token},
		"plain http":  {Cluster{Name: "c1", Server: "http://10.0.0.1", CA: cluster.CA}, token},
		"credentials": {Cluster{Name: "c1", Server: "https://u:p@10.0.0.1", CA: cluster.CA}, token},
		"CA":          {Cluster{Name: "c1", Server: cluster.Server, CA: []byte("x")}, token},
		"token":       {cluster, "short.hunter2hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := Agent(bootstrapv1.RepaveConfigSpec{}, bad.cluster, bad.token)
			if err == nil {
				t.Fatalf("rendered %s", data)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestTokenOfOtherData(t *testing.T) {
	for _, data := range []string{"", "{}", "#cloud-config", `{"version":"repave.io/join/v1alpha1","token":"x"}`, `{"version":"other","token":"` + token + `"}`} {
		if got := Token([]byte(data)); got != "" {
			t.Errorf("Token(%q) = %q", data, got)
		}
	}
}

// TestStable: equal input gives equal bytes, in whatever order the labels were put in.
func TestStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,8}`), 0, 20, rapid.ID).Draw(t, "keys")
		make := func(order []string) bootstrapv1.RepaveConfigSpec {
			labels := map[string]string{}
			for _, key := range order {
				labels[key] = "v-" + key
			}
			return bootstrapv1.RepaveConfigSpec{Kubelet: bootstrapv1.Kubelet{NodeLabels: labels}}
		}
		forth, err := Agent(make(keys), cluster, token)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(keys)
		back, err := Agent(make(keys), cluster, token)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(forth, back) {
			t.Fatalf("%s\n%s", forth, back)
		}
	})
}
