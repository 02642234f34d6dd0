// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var (
	config *rest.Config
	direct client.Client
	key    = client.ObjectKey{Namespace: "default", Name: "c"}
)

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	env := &envtest.Environment{BinaryAssetsDirectory: filepath.Join(root, "bin")}
	if config, err = env.Start(); err != nil {
		return 0, fmt.Errorf("starting control plane: %w", err)
	}
	config.QPS, config.Burst = 500, 1000
	if direct, err = client.New(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return 0, err
	}
	code := m.Run()
	return code, env.Stop()
}

// oneCluster is the API server of the tests as a workload cluster that can be lost.
type oneCluster struct {
	lost atomic.Bool
	// dead is an address where nobody answers, given instead of the real one.
	dead atomic.Bool
}

func (c *oneCluster) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	if c.lost.Load() {
		return nil, clustercache.ErrClusterNotConnected
	}
	return direct, nil
}

func (c *oneCluster) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	if c.dead.Load() {
		return &rest.Config{Host: "https://127.0.0.1:1"}, nil
	}
	return config, nil
}

func (c *oneCluster) Watch(context.Context, client.ObjectKey, clustercache.Watcher) error {
	if c.lost.Load() {
		return clustercache.ErrClusterNotConnected
	}
	return nil
}

func (c *oneCluster) GetClusterSource(string, func(context.Context, client.Object) []reconcile.Request, ...clustercache.GetClusterSourceOption) source.Source {
	return nil
}

// newNode makes a ready Node with a provider ID of its own.
func newNode(t *testing.T) *corev1.Node {
	t.Helper()
	g := NewWithT(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}
	g.Expect(direct.Create(t.Context(), node)).To(Succeed())
	node.Spec.ProviderID = "repave://default/" + node.Name + "/m"
	g.Expect(direct.Update(t.Context(), node)).To(Succeed())
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.NodeInfo.BootID = "boot-1"
	g.Expect(direct.Status().Update(t.Context(), node)).To(Succeed())
	return node
}

// newPod makes a running pod on a Node.
func newPod(t *testing.T, node, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: node + "-" + name, Labels: map[string]string{"node": node, "app": name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	for _, c := range change {
		c(pod)
	}
	g.Expect(direct.Create(t.Context(), pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	g.Expect(direct.Status().Update(t.Context(), pod)).To(Succeed())
	return pod
}

// newBudget makes a PodDisruptionBudget as its controller would leave it when nothing may be disrupted.
func newBudget(t *testing.T, node, app string) *policyv1.PodDisruptionBudget {
	t.Helper()
	g := NewWithT(t)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: node + "-" + app},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"node": node, "app": app}}},
	}
	g.Expect(direct.Create(t.Context(), budget)).To(Succeed())
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
	g.Expect(direct.Status().Update(t.Context(), budget)).To(Succeed())
	return budget
}
