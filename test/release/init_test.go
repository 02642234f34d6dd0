// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// inventory is what clusterctl believes to be installed: namespace/name to version.
func inventory(t *testing.T, admin client.Client) map[string]string {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Kind: "ProviderList"})
	NewWithT(t).Expect(admin.List(t.Context(), list)).To(Succeed())
	found := map[string]string{}
	for _, provider := range list.Items {
		found[client.ObjectKeyFromObject(&provider).String()], _, _ = unstructured.NestedString(provider.Object, "version")
	}
	return found
}

var everything = map[string]string{
	"capi-system/cluster-api":                  coreVersion,
	"repave-system/infrastructure-repave":      version,
	"repave-bootstrap-system/bootstrap-repave": version,
}

func TestInitInstallsAllProviders(t *testing.T) {
	g := NewWithT(t)
	_, admin := connect(t)
	g.Expect(inventory(t, admin)).To(Equal(everything))
	for _, key := range []client.ObjectKey{
		{Namespace: "repave-system", Name: "repave-infrastructure"},
		{Namespace: "repave-system", Name: "repave-netboot"},
		{Namespace: "repave-bootstrap-system", Name: "repave-bootstrap"},
	} {
		g.Expect(admin.Get(t.Context(), key, &appsv1.Deployment{})).To(Succeed(), key.String())
	}
}

func TestInitServesAllKinds(t *testing.T) {
	g := NewWithT(t)
	c, _ := connect(t)
	served, err := discovery.NewDiscoveryClientForConfig(c.RESTConfig())
	g.Expect(err).NotTo(HaveOccurred())
	for version, kinds := range map[schema.GroupVersion][]string{
		infrav1.GroupVersion: {
			"RepaveHost", "RepaveMachine", "RepaveMachineTemplate", "RepaveMachinePool", "RepaveMachinePoolTemplate",
			"RepaveCluster", "RepaveClusterTemplate",
		},
		bootstrapv1.GroupVersion: {"RepaveConfig", "RepaveConfigTemplate"},
	} {
		var found []string
		resources, err := served.ServerResourcesForGroupVersion(version.String())
		g.Expect(err).NotTo(HaveOccurred())
		for _, resource := range resources.APIResources {
			if resource.SingularName != "" { // not a subresource
				found = append(found, resource.Kind)
			}
		}
		g.Expect(found).To(ConsistOf(kinds))
	}
}

// What the kubelet fills in must come through clusterctl's own filling of variables.
func TestInitKeepsWhatTheKubeletFillsIn(t *testing.T) {
	g := NewWithT(t)
	_, admin := connect(t)
	deployment := &appsv1.Deployment{}
	g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: "repave-system", Name: "repave-infrastructure"}, deployment)).To(Succeed())
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Args).To(ContainElement("--order-key-secret=$(POD_NAMESPACE)/repave-order-key"))
}

// A person deletes the infrastructure provider and installs it again. Core, the other provider and the record of servers stay.
func TestDeleteOfOneProviderLeavesTheRest(t *testing.T) {
	g := NewWithT(t)
	c, admin := connect(t)
	host := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"interfaces": []any{map[string]any{"mac": "52:54:00:aa:00:01"}},
	}}}
	host.SetGroupVersionKind(infrav1.GroupVersion.WithKind("RepaveHost"))
	host.SetNamespace(c.Namespace(t))
	host.SetName("r1")
	g.Expect(admin.Create(t.Context(), host)).To(Succeed())

	_, err := clusterctl(nil, "delete", "--kubeconfig", c.Kubeconfig(), "--infrastructure", "repave")
	g.Expect(err).NotTo(HaveOccurred())
	remaining := maps.Clone(everything)
	delete(remaining, "repave-system/infrastructure-repave")
	g.Expect(inventory(t, admin)).To(Equal(remaining))
	g.Eventually(func(g Gomega) {
		left := &appsv1.DeploymentList{}
		g.Expect(admin.List(t.Context(), left, client.InNamespace("repave-system"))).To(Succeed())
		g.Expect(left.Items).To(BeEmpty())
	}, "30s", "100ms").Should(Succeed())
	for _, stays := range []struct {
		key    client.ObjectKey
		object client.Object
	}{
		{client.ObjectKey{Namespace: "capi-system", Name: "capi-controller-manager"}, &appsv1.Deployment{}},
		{client.ObjectKey{Namespace: "repave-bootstrap-system", Name: "repave-bootstrap"}, &appsv1.Deployment{}},
		{client.ObjectKey{Namespace: "repave-bootstrap-system", Name: "repave-bootstrap"}, &corev1.ServiceAccount{}},
		{client.ObjectKey{Name: "repave-bootstrap"}, &rbacv1.ClusterRole{}},
		{client.ObjectKey{Name: "repave-bootstrap-secrets"}, &rbacv1.ClusterRole{}},
		{client.ObjectKeyFromObject(host), host},
	} {
		g.Expect(admin.Get(t.Context(), stays.key, stays.object)).To(Succeed(), stays.key.String())
	}

	// clusterctl tries cert-manager in a namespace that it makes and deletes. One that still ends, of the init before, it takes
	// for its own and then waits in vain.
	g.Eventually(func() bool {
		return apierrors.IsNotFound(admin.Get(t.Context(), client.ObjectKey{Name: "cert-manager-test"}, &corev1.Namespace{}))
	}, "60s", "100ms").Should(BeTrue())
	_, err = clusterctl(nil, "init", "--kubeconfig", c.Kubeconfig(), "--infrastructure", "repave")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(inventory(t, admin)).To(Equal(everything))
}
