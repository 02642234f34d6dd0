// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tooMuch says what is wrong with a rule that holds in all namespaces; "" is nothing.
func tooMuch(rule rbacv1.PolicyRule) string {
	for _, resource := range rule.Resources {
		if name, _, _ := strings.Cut(resource, "/"); name == "secrets" {
			return "Secrets of all namespaces"
		}
	}
	if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*") || len(rule.NonResourceURLs) > 0 ||
		slices.ContainsFunc(rule.Resources, func(resource string) bool { return strings.Contains(resource, "*") }) {
		return "more than is named"
	}
	for _, verb := range []string{"escalate", "bind", "impersonate"} {
		if slices.Contains(rule.Verbs, verb) {
			return "what it does not have itself"
		}
	}
	return ""
}

func TestNothingIsGrantedEverywhereThatShouldNot(t *testing.T) {
	forEachProvider(t, func(t *testing.T, p provider) {
		g := NewWithT(t)
		all := objects(t, p.components(t))
		rules := map[string][]rbacv1.PolicyRule{}
		for _, role := range into[rbacv1.ClusterRole](t, all, "ClusterRole") {
			g.Expect(role.AggregationRule).To(BeNil(), role.Name)
			rules[role.Name] = role.Rules
		}
		bindings := into[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding")
		g.Expect(bindings).NotTo(BeEmpty())
		for _, binding := range bindings {
			g.Expect(rules).To(HaveKey(binding.RoleRef.Name), "a role that the provider brings itself")
			for _, rule := range rules[binding.RoleRef.Name] {
				g.Expect(tooMuch(rule)).To(BeEmpty(), "%s: %v", binding.Name, rule)
			}
		}
	})
}

func TestTooMuch(t *testing.T) {
	for name, test := range map[string]struct {
		rule rbacv1.PolicyRule
		want string
	}{
		"named":          {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}, ""},
		"secrets":        {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes", "secrets"}, Verbs: []string{"get"}}, "Secrets of all namespaces"},
		"all verbs":      {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"*"}}, "more than is named"},
		"all resources":  {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"*"}, Verbs: []string{"get"}}, "more than is named"},
		"all status":     {rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"*/status"}, Verbs: []string{"get"}}, "more than is named"},
		"all groups":     {rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"nodes"}, Verbs: []string{"get"}}, "more than is named"},
		"addresses":      {rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}, "more than is named"},
		"others' rights": {rbacv1.PolicyRule{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles"}, Verbs: []string{"bind"}}, "what it does not have itself"},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(tooMuch(test.rule)).To(Equal(test.want)) })
	}
}

// Secrets are given by namespace, by a person, and to each provider no more than it needs.
func TestNamespaceAccessGivesSecretsThereOnly(t *testing.T) {
	g := NewWithT(t)
	c, admin := connect(t)
	chosen, other := c.Namespace(t), c.Namespace(t)
	manifest, err := clusterctl(map[string]string{"NAMESPACE": chosen}, "generate", "yaml", "--from", root+"/templates/namespace-access.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Apply(t.Context(), manifest)).To(Succeed())

	const (
		infrastructure = "repave-system:repave-infrastructure"
		netboot        = "repave-system:repave-netboot"
		bootstrap      = "repave-bootstrap-system:repave-bootstrap"
	)
	want, got := map[string]bool{}, map[string]bool{}
	check := func(g Gomega) {
		for account, granted := range map[string][]string{
			infrastructure: {"get"},
			netboot:        {"get"},
			bootstrap:      {"get", "create", "update"},
		} {
			for _, namespace := range []string{chosen, other, "kube-system", ""} {
				for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
					question := fmt.Sprintf("%s %s in %q", account, verb, namespace)
					want[question] = namespace == chosen && slices.Contains(granted, verb)
					got[question] = allowed(t, g, admin, account, namespace, verb)
				}
			}
		}
		g.Expect(got).To(Equal(want))
	}
	g.Eventually(check, "20s", "200ms").Should(Succeed()) // the API server learns of bindings by and by
}

// allowed asks the API server what a ServiceAccount may do with Secrets.
func allowed(t *testing.T, g Gomega, admin client.Client, account, namespace, verb string) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + account,
		Groups:             []string{"system:serviceaccounts", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Version: corev1.SchemeGroupVersion.Version, Resource: "secrets"},
	}}
	g.Expect(admin.Create(t.Context(), review)).To(Succeed())
	return review.Status.Allowed
}

// The diagnostics endpoint lets in whom the API server knows and allows: without these rights, nobody.
func TestDiagnosticsCanAskWhoIsCalling(t *testing.T) {
	g := NewWithT(t)
	_, admin := connect(t)
	for _, account := range []string{"repave-system:repave-infrastructure", "repave-system:repave-netboot", "repave-bootstrap-system:repave-bootstrap"} {
		for resource, group := range map[string]string{"tokenreviews": "authentication.k8s.io", "subjectaccessreviews": "authorization.k8s.io"} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + account,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: group, Version: "v1", Resource: resource},
			}}
			g.Expect(admin.Create(t.Context(), review)).To(Succeed())
			g.Expect(review.Status.Allowed).To(BeTrue(), "%s %s", account, resource)
		}
	}
}
