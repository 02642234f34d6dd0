// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const (
	root     = "../.."
	approver = "system:serviceaccount:repave-system:repave-infrastructure"
)

var (
	config   *rest.Config
	admin    client.Client
	recorder = events.NewFakeRecorder(1000)
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
	if err := infrav1.AddToScheme(scheme.Scheme); err != nil {
		return 0, err
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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := prepare(ctx); err != nil {
		return 0, err
	}
	mgr, err := ctrl.NewManager(impersonating(approver), ctrl.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return 0, err
	}
	r := &Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Recorder: recorder, NetbootUsers: []string{netbootUser}, WatchFilterValue: ""}
	if err := r.SetupWithManager(mgr, controller.Options{}); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	code := m.Run()
	cancel()
	return code, <-ended
}

// prepare gives the approver what its markers ask for and no more, and lets everybody ask for certificates.
func prepare(ctx context.Context) error {
	grants := map[string][]rbacv1.PolicyRule{
		approver: {
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests/approval"}, Verbs: []string{"update"}},
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{"kubernetes.io/kube-apiserver-client"}, Verbs: []string{"approve"}},
			{APIGroups: []string{infrav1.GroupVersion.Group}, Resources: []string{"repavehosts"}, Verbs: []string{"get"}},
		},
		netbootUser: {
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"}},
			{APIGroups: []string{infrav1.GroupVersion.Group}, Resources: []string{"repavehosts"}, Verbs: []string{"get", "list", "watch"}},
		},
	}
	for user, rules := range grants {
		meta := metav1.ObjectMeta{GenerateName: "granted-"}
		role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
		if err := admin.Create(ctx, role); err != nil {
			return err
		}
		if err := admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		}); err != nil {
			return err
		}
	}
	return applyAgentRights(ctx)
}

// applyAgentRights installs what agents of a real site have.
func applyAgentRights(ctx context.Context) error {
	content, err := os.ReadFile(filepath.Join(root, "config", "rbac", "agent.yaml"))
	if err != nil {
		return err
	}
	role, binding, ok := splitDocument(content)
	if !ok {
		return fmt.Errorf("reading agent.yaml: want a role and a binding")
	}
	for _, object := range []struct {
		text []byte
		into client.Object
	}{{role, &rbacv1.ClusterRole{}}, {binding, &rbacv1.ClusterRoleBinding{}}} {
		if err := yaml.UnmarshalStrict(object.text, object.into); err != nil {
			return err
		}
		if err := admin.Create(ctx, object.into); err != nil {
			return err
		}
	}
	return nil
}

func impersonating(user string, groups ...string) *rest.Config {
	out := rest.CopyConfig(config)
	out.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return out
}

func as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	c, err := client.New(impersonating(user, groups...), client.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// newHost makes a host whose order op.1 was redeemed.
func newHost(t *testing.T, change func(*infrav1.RepaveHost)) *infrav1.RepaveHost {
	t.Helper()
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "site-"}}
	g.Expect(admin.Create(t.Context(), namespace)).To(Succeed())
	now := metav1.NewTime(time.Now())
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "h1"}}
	host.Status.Operation = &infrav1.Operation{
		ID: "op", Kind: infrav1.OperationRepave, Method: infrav1.MethodNetboot, Step: infrav1.StepProving, Attempt: 1,
		StartedAt: now, StepAt: now, Deadline: now,
	}
	host.Status.Netboot = &infrav1.NetbootStatus{RedeemedOrder: "op.1"}
	if change != nil {
		change(host)
	}
	status := host.Status
	g.Expect(admin.Create(t.Context(), host)).To(Succeed())
	host.Status = status
	g.Expect(admin.Status().Update(t.Context(), host)).To(Succeed())
	return host
}
