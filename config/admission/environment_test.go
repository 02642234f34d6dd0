// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const root = "../.."

// policyFiles are the policies and what RBAC gives to agents.
var policyFiles = []string{"agent-status.yaml", "agent-lease.yaml", "template-immutable.yaml", "../rbac/agent.yaml"}

var (
	config *rest.Config
	admin  client.Client
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	for _, add := range []error{infrav1.AddToScheme(scheme.Scheme), bootstrapv1.AddToScheme(scheme.Scheme)} {
		if add != nil {
			return 0, add
		}
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: filepath.Join(root, "bin"),
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	var err error
	if config, err = environment.Start(); err != nil {
		return 0, fmt.Errorf("starting API server: %w", err)
	}
	defer func() { _ = environment.Stop() }()
	config.QPS = -1
	if admin, err = client.New(config, client.Options{}); err != nil {
		return 0, err
	}
	if err := prepare(context.Background()); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// prepare applies the files, and gives agents all rights on hosts and Leases: what is refused then, a policy refuses.
func prepare(ctx context.Context) error {
	for _, file := range policyFiles {
		objects, err := read(file)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := admin.Create(ctx, object); err != nil {
				return fmt.Errorf("creating %s of %s: %w", object.GetName(), file, err)
			}
		}
	}
	for _, namespace := range []string{"a", "b"} {
		if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			return err
		}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "everything"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{infrav1.GroupVersion.Group, coordinationv1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: infrav1.HostGroup}, {APIGroup: rbacv1.GroupName, Kind: "User", Name: "controller"}},
	}
	if err := admin.Create(ctx, role); err != nil {
		return err
	}
	return admin.Create(ctx, binding)
}

// read takes a file apart into its objects.
func read(file string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, document := range splitDocuments(content) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// as is a client that acts as somebody else.
func as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	g := NewWithT(t)
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.New(impersonating, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func agent(t *testing.T, namespace, host string) client.Client {
	t.Helper()
	return as(t, infrav1.HostUser(namespace, host), infrav1.HostGroup, "system:authenticated")
}

// policy reads a policy of a file.
func policy(t *testing.T, file string) *admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	out := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	g.Expect(yaml.UnmarshalStrict(splitDocuments(content)[0], out)).To(Succeed())
	return out
}
