// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// An agent asks for certificates and sees what became of them; everything else is for the Role of its host to grant.
func TestRightsOfAllAgents(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	role := &rbacv1.ClusterRole{}
	g.Expect(admin.Get(ctx, client.ObjectKey{Name: "repave-host-agent"}, role)).To(Succeed())
	g.Expect(role.Rules).To(HaveLen(1))
	requests := role.Rules[0]
	for _, verb := range []string{"get", "create", "list", "watch", "update", "patch", "delete"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: infrav1.HostUser("a", "h"), Groups: []string{infrav1.HostGroup},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: requests.APIGroups[0], Resource: "certificatesigningrequests", Verb: verb},
		}}
		g.Expect(admin.Create(ctx, review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(Equal(slices.Contains([]string{"get", "create"}, verb)), verb)
	}
}
