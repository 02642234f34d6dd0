// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// provider is one of those that a release ships.
type provider struct {
	kind      string // as in the names of files
	namespace string
	flag      string // of clusterctl
}

func (p provider) label() string { return p.kind + "-repave" }

var providers = []provider{
	{kind: "infrastructure", namespace: "repave-system", flag: "--infrastructure"},
	{kind: "bootstrap", namespace: "repave-bootstrap-system", flag: "--bootstrap"},
}

// clusterScoped are the kinds without a namespace that a release ships.
var clusterScoped = map[string]bool{
	"Namespace": true, "CustomResourceDefinition": true, "ClusterRole": true, "ClusterRoleBinding": true,
	"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true,
}

// components is the file of a provider, as it is in the repository.
func (p provider) components(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(place, "repository", p.label(), version, p.kind+"-components.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

// filled is what clusterctl makes of the components.
func (p provider) filled(t *testing.T, variables map[string]string, args ...string) []byte {
	t.Helper()
	content, err := clusterctl(variables, append([]string{"generate", "provider", p.flag, "repave:" + version}, args...)...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

func forEachProvider(t *testing.T, check func(*testing.T, provider)) {
	for _, p := range providers {
		t.Run(p.kind, func(t *testing.T) { check(t, p) })
	}
}

// into gives the objects of one kind in their type.
func into[T any](t *testing.T, all []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var found []T
	for _, object := range all {
		if object.GetKind() != kind {
			continue
		}
		var typed T
		NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true)).To(Succeed())
		found = append(found, typed)
	}
	return found
}

func TestEveryObjectHasItsPlace(t *testing.T) {
	forEachProvider(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		var namespaces []string
		for _, object := range objects(t, p.components(t)) {
			name := object.GetKind() + " " + object.GetName()
			g.Expect(object.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/provider", p.label()), name)
			if object.GetKind() == "Namespace" {
				namespaces = append(namespaces, object.GetName())
			}
			if clusterScoped[object.GetKind()] {
				g.Expect(object.GetNamespace()).To(BeEmpty(), name)
			} else {
				g.Expect(object.GetNamespace()).To(Equal(p.namespace), name)
			}
		}
		g.Expect(namespaces).To(ConsistOf(p.namespace))
	})
}

// clusterctl installs, upgrades and deletes each provider by itself: an object of both would go with either.
func TestProvidersShareNothing(t *testing.T) {
	g := NewWithT(t)
	owner := map[string]string{}
	for _, p := range providers {
		for _, object := range objects(t, p.components(t)) {
			name := strings.Join([]string{object.GetKind(), object.GetNamespace(), object.GetName()}, "/")
			g.Expect(owner).NotTo(HaveKey(name))
			owner[name] = p.kind
		}
	}
}

// An init without any variable must do.
func TestEveryVariableHasADefault(t *testing.T) {
	variable := regexp.MustCompile(`\$\{[^}]*\}`)
	withDefault := regexp.MustCompile(`^\$\{REPAVE_[A-Z_]+:=.+\}$`)
	forEachProvider(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		found := variable.FindAllString(string(p.components(t)), -1)
		g.Expect(found).NotTo(BeEmpty())
		g.Expect(found).To(HaveEach(MatchRegexp(withDefault.String())))
		g.Expect(string(p.filled(t, nil))).NotTo(ContainSubstring("${"))
	})
}

func TestDeploymentsAreStampedAndHardened(t *testing.T) {
	forEachProvider(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		g.Expect(string(p.components(t))).NotTo(ContainSubstring("REPAVE_VERSION"))
		deployments := into[appsv1.Deployment](t, objects(t, p.filled(t, nil)), "Deployment")
		g.Expect(deployments).NotTo(BeEmpty())
		for _, deployment := range deployments {
			pod := deployment.Spec.Template.Spec
			g.Expect(pod.Containers).To(HaveLen(1), deployment.Name)
			manager := pod.Containers[0]
			g.Expect(manager.Name).To(Equal("manager"), "clusterctl waits for a container of that name")
			g.Expect(manager.Image).To(HaveSuffix("cluster-api-provider-repave:" + version))

			g.Expect(pod.HostNetwork || pod.HostPID || pod.HostIPC).To(BeFalse(), deployment.Name)
			g.Expect(pod.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()), deployment.Name)
			g.Expect(string(pod.SecurityContext.SeccompProfile.Type)).To(Equal("RuntimeDefault"), deployment.Name)
			g.Expect(manager.SecurityContext.AllowPrivilegeEscalation).To(HaveValue(BeFalse()), deployment.Name)
			g.Expect(manager.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()), deployment.Name)
			g.Expect(manager.SecurityContext.Capabilities.Drop).To(ConsistOf(BeEquivalentTo("ALL")), deployment.Name)
		}
	})
}

// Each variable ends where it is meant to, as the type that it is meant to be.
func TestVariablesAreFilledIn(t *testing.T) {
	g := NewWithT(t)
	const url = "http://10.0.0.2:8081"
	argsOf := func(variables map[string]string) (map[string][]string, *int32) {
		args, replicas := map[string][]string{}, (*int32)(nil)
		for _, deployment := range into[appsv1.Deployment](t, objects(t, providers[0].filled(t, variables)), "Deployment") {
			args[deployment.Name] = deployment.Spec.Template.Spec.Containers[0].Args
			if deployment.Name == "repave-netboot" {
				replicas = deployment.Spec.Replicas
			}
		}
		return args, replicas
	}

	args, replicas := argsOf(nil)
	g.Expect(args["repave-infrastructure"]).To(ContainElements("--netboot-url", ""))
	g.Expect(replicas).To(HaveValue(BeZero()), "without a URL netboot does not run")

	args, replicas = argsOf(map[string]string{"REPAVE_NETBOOT_URL": url, "REPAVE_NETBOOT_REPLICAS": "1", "REPAVE_AGENT_API_SERVER": "https://10.0.0.1:6443"})
	g.Expect(args["repave-infrastructure"]).To(ContainElements("--netboot-url", url))
	g.Expect(args["repave-netboot"]).To(ContainElements("--netboot-url", url, "--agent-api-server", "https://10.0.0.1:6443"))
	g.Expect(replicas).To(HaveValue(BeEquivalentTo(1)))
}

// With --target-namespace, nothing points at the namespace that a provider would else be in.
func TestAnotherNamespaceWillDo(t *testing.T) {
	forEachProvider(t, func(t *testing.T, p provider) {
		NewWithT(t).Expect(string(p.filled(t, nil, "--target-namespace", "elsewhere"))).NotTo(ContainSubstring(p.namespace))
	})
}

// Cluster API finds the version of a kind that speaks its contract by a label, and clusterctl by the metadata.
func TestKindsSpeakTheContract(t *testing.T) {
	forEachProvider(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		content, err := os.ReadFile(filepath.Join(place, "repository", p.label(), version, "metadata.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		var metadata struct {
			ReleaseSeries []struct {
				Major, Minor int
				Contract     string
			}
		}
		g.Expect(yaml.Unmarshal(content, &metadata)).To(Succeed())
		g.Expect(metadata.ReleaseSeries).To(HaveEach(HaveField("Contract", "v1beta2")))

		crds := into[apiextensionsv1.CustomResourceDefinition](t, objects(t, p.components(t)), "CustomResourceDefinition")
		files, err := filepath.Glob(filepath.Join(root, "config", "crd", p.kind+".*.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(crds).To(HaveLen(len(files)), "every kind is shipped")
		for _, crd := range crds {
			g.Expect(crd.Annotations).NotTo(HaveKey("clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check"), crd.Name)
			g.Expect(crd.Name).To(Equal(strings.ToLower(crd.Spec.Names.Kind) + "s." + crd.Spec.Group))
			contract := crd.Labels["cluster.x-k8s.io/v1beta2"]
			g.Expect(crd.Spec.Versions).To(ContainElement(SatisfyAll(
				HaveField("Name", contract), HaveField("Served", true), HaveField("Storage", true))), crd.Name)
		}
	})
}
