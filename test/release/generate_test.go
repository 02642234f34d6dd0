// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const digest = "@sha256:0000000000000000000000000000000000000000000000000000000000000000"

// required are the variables of the cluster templates that have no default, with a value each. clusterctl itself sets
// CLUSTER_NAME and NAMESPACE from its arguments.
var required = map[string]string{
	"CONTROL_PLANE_ENDPOINT_HOST": "10.0.0.1",
	"NETBOOT_IMAGE":               "registry.example/netboot" + digest,
	"OS_IMAGE":                    "registry.example/os" + digest,
}

// flavors are the cluster templates of the repository; "" is the default.
func flavors(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(place, "repository", "infrastructure-repave", version, "cluster-template*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, file := range files {
		found = append(found, strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "cluster-template"), ".yaml"), "-"))
	}
	g.Expect(found).To(ContainElement(""))
	return found
}

func generate(namespace, flavor string, variables map[string]string, args ...string) ([]byte, error) {
	return clusterctl(variables, append([]string{
		"generate", "cluster", "my", "--infrastructure", "repave:" + version, "--target-namespace", namespace, "--flavor", flavor,
		"--kubernetes-version", "v1.36.4",
	}, args...)...)
}

// section gives the names that clusterctl lists under a heading.
func section(listing, heading string) []string {
	var names []string
	_, rest, _ := strings.Cut(listing, heading+":\n")
	for line := range strings.Lines(rest) {
		name, isName := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if !isName {
			break
		}
		names = append(names, strings.Fields(name)[0])
	}
	return names
}

func TestGenerateListsVariables(t *testing.T) {
	for _, flavor := range flavors(t) {
		t.Run("flavor "+flavor, func(t *testing.T) {
			g := NewWithT(t)
			listing, err := generate("ns", flavor, nil, "--list-variables")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(section(string(listing), "Required Variables")).To(ConsistOf(slices.Collect(maps.Keys(required))))
			g.Expect(section(string(listing), "Optional Variables")).To(ContainElements("CONTROL_PLANE_ENDPOINT_PORT", "WORKER_MACHINE_COUNT"))
		})
	}
}

func TestGenerateRefusesWhatLacksAVariable(t *testing.T) {
	for _, flavor := range flavors(t) {
		for missing := range required {
			t.Run("flavor "+flavor+" without "+missing, func(t *testing.T) {
				variables := maps.Clone(required)
				delete(variables, missing)
				_, err := generate("ns", flavor, variables)
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(missing)))
			})
		}
	}
}

// The API server takes what is generated. Cluster API's webhooks cannot have their say, because no pod runs: their
// configuration is set aside, and what is checked is the schema and the rules of each kind.
func TestAPIServerTakesWhatIsGenerated(t *testing.T) {
	g := NewWithT(t)
	c, admin := connect(t)
	g.Expect(admin.DeleteAllOf(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{})).To(Succeed())
	g.Expect(admin.DeleteAllOf(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{})).To(Succeed())
	namespace := c.Namespace(t)

	manifests := map[string][]byte{}
	for _, flavor := range flavors(t) {
		manifest, err := generate(namespace, flavor, required, "--worker-machine-count", "4")
		g.Expect(err).NotTo(HaveOccurred())
		manifests["flavor "+flavor] = manifest
	}
	host, err := clusterctl(map[string]string{
		"NAMESPACE": namespace, "HOST_NAME": "r1", "HOST_MAC": "52:54:00:aa:00:01", "ROOT_DISK_SERIAL": "S1",
		"BMC_ADDRESS": "https://10.0.0.7", "BMC_USERNAME": "admin", "BMC_PASSWORD": "secret",
	}, "generate", "yaml", "--from", root+"/templates/host.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	manifests["host"] = host

	for name, manifest := range manifests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := objects(t, manifest)
			g.Expect(found).NotTo(BeEmpty())
			for _, object := range found {
				g.Expect(object.GetNamespace()).To(Equal(namespace), object.GetKind())
				g.Eventually(func() error { // until the API server forgets the webhooks
					return admin.Create(t.Context(), object.DeepCopy(), client.DryRunAll, client.FieldValidation("Strict"))
				}, "20s", "200ms").Should(Succeed(), object.GetKind())
			}
		})
	}
}
