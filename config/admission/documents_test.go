// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func splitDocuments(content []byte) [][]byte {
	return bytes.Split(content, []byte("\n---\n"))
}

func TestEveryFileIsInstalled(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("kustomization.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var kustomization struct{ Resources []string }
	g.Expect(yaml.Unmarshal(content, &kustomization)).To(Succeed())
	files, err := filepath.Glob("*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(append(kustomization.Resources, "kustomization.yaml")).To(ConsistOf(files))
}

// The API server checks each expression against the schemas of the kinds and says what cannot be. With
// failurePolicy Fail, such an expression would refuse everything.
func TestExpressionsFitTheTypes(t *testing.T) {
	g := NewWithT(t)
	for _, file := range []string{"agent-status.yaml", "agent-lease.yaml", "template-immutable.yaml"} {
		found := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		g.Eventually(func(g Gomega) {
			g.Expect(admin.Get(context.Background(), client.ObjectKeyFromObject(policy(t, file)), found)).To(Succeed())
		}, 10*time.Second).Should(Succeed())
		if found.Status.TypeChecking != nil {
			g.Expect(found.Status.TypeChecking.ExpressionWarnings).To(BeEmpty(), file)
		}
		g.Expect(*found.Spec.FailurePolicy).To(Equal(admissionregistrationv1.Fail), file)
	}
}
