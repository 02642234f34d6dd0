// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var direct client.Client

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 0, err
		}
	}
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
	core, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return 0, err
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: filepath.Join(root, "bin"), ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths: []string{filepath.Join(root, "config/crd"), filepath.Join(strings.TrimSpace(string(core)), "core/config/crd/bases")},
	}
	config, err := env.Start()
	if err != nil {
		return 0, fmt.Errorf("starting control plane: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if direct, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 0, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return 0, err
	}
	if err := (&Reconciler{Client: mgr.GetClient()}).SetupWithManager(mgr, controller.Options{}); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	code := m.Run()
	cancel()
	<-done
	return code, env.Stop()
}

// world is a namespace with a Cluster and its RepaveCluster.
type world struct {
	*WithT
	ctx       context.Context
	namespace string
}

func newWorld(t *testing.T, change func(*infrav1.RepaveCluster)) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), ctx: t.Context()}
	w.SetDefaultEventuallyTimeout(10 * time.Second)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cluster-"}}
	w.Expect(direct.Create(w.ctx, ns)).To(Succeed())
	w.namespace = ns.Name
	owner := &clusterv1.Cluster{ObjectMeta: w.meta("c"), Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "RepaveCluster", Name: "c"},
	}}
	w.Expect(direct.Create(w.ctx, owner)).To(Succeed())
	infra := &infrav1.RepaveCluster{ObjectMeta: w.meta("c")}
	infra.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: owner.UID}}
	if change != nil {
		change(infra)
	}
	w.Expect(direct.Create(w.ctx, infra)).To(Succeed())
	return w
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) status() infrav1.RepaveClusterStatus {
	infra := &infrav1.RepaveCluster{}
	w.Expect(direct.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "c"}, infra)).To(Succeed())
	return infra.Status
}

func (w *world) why(kind string) string {
	if found := meta.FindStatusCondition(w.status().Conditions, kind); found != nil {
		return string(found.Status) + " " + found.Reason
	}
	return ""
}

func (w *world) changeCluster(change func(*clusterv1.Cluster)) {
	cluster := &clusterv1.Cluster{}
	w.Expect(direct.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "c"}, cluster)).To(Succeed())
	before := cluster.DeepCopy()
	change(cluster)
	w.Expect(direct.Patch(w.ctx, cluster, client.MergeFrom(before))).To(Succeed())
}

func TestEndpointOfTheCluster(t *testing.T) {
	w := newWorld(t, nil)
	w.Eventually(func() string { return w.why(infrav1.ConditionReady) }).Should(Equal("False WaitingForControlPlane"))
	w.Expect(w.status().Initialization.Provisioned).To(BeNil())
	w.changeCluster(func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
	})
	w.Eventually(func() string { return w.why(infrav1.ConditionReady) }).Should(Equal("True ControlPlaneEndpointKnown"))
	w.Expect(w.status().Initialization.Provisioned).To(HaveValue(BeTrue()))
}

func TestOwnEndpointAndFailureDomains(t *testing.T) {
	w := newWorld(t, func(infra *infrav1.RepaveCluster) {
		infra.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "api.example", Port: 6443}
	})
	w.Eventually(func() string { return w.why(infrav1.ConditionReady) }).Should(Equal("True ControlPlaneEndpointKnown"))
	for name, zone := range map[string]string{"h1": "west", "h2": "east", "h3": "west", "h4": ""} {
		host := &infrav1.RepaveHost{ObjectMeta: w.meta(name)}
		if zone != "" {
			host.Labels = map[string]string{infrav1.LabelZone: zone}
		}
		w.Expect(direct.Create(w.ctx, host)).To(Succeed())
	}
	both := []clusterv1.FailureDomain{{Name: "east", ControlPlane: ptr.To(true)}, {Name: "west", ControlPlane: ptr.To(true)}}
	w.Eventually(func() []clusterv1.FailureDomain { return w.status().FailureDomains }).Should(Equal(both))
	w.Expect(direct.Delete(w.ctx, &infrav1.RepaveHost{ObjectMeta: w.meta("h2")})).To(Succeed())
	w.Eventually(func() []clusterv1.FailureDomain { return w.status().FailureDomains }).Should(Equal(both[1:]))
}

func TestPaused(t *testing.T) {
	w := newWorld(t, func(infra *infrav1.RepaveCluster) {
		infra.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		infra.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "api.example", Port: 6443}
	})
	w.Eventually(func() string { return w.why(infrav1.ConditionPaused) }).Should(Equal("True Paused"))
	w.Expect(w.status().Initialization.Provisioned).To(BeNil())
}

func TestLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*infrav1.RepaveCluster){
		"managed by another": func(infra *infrav1.RepaveCluster) {
			infra.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "terraform"}
		},
		"without an owner": func(infra *infrav1.RepaveCluster) { infra.OwnerReferences = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, change)
			w.changeCluster(func(c *clusterv1.Cluster) { c.Annotations = map[string]string{"look": "again"} })
			w.Consistently(func() []metav1.Condition { return w.status().Conditions }, time.Second).Should(BeEmpty())
		})
	}
}

func TestReport(t *testing.T) {
	g := NewWithT(t)
	infra := &infrav1.RepaveCluster{}
	report(infra, View{Endpoint: infrav1.APIEndpoint{Host: "a", Port: 1}})
	report(infra, View{})
	g.Expect(infra.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "provisioned must never flip back")
	g.Expect(meta.IsStatusConditionFalse(infra.Status.Conditions, infrav1.ConditionReady)).To(BeTrue())

	var zones []string
	for i := range 200 {
		zones = append(zones, fmt.Sprintf("z%03d", i))
	}
	report(infra, View{Zones: zones})
	g.Expect(infra.Status.FailureDomains).To(HaveLen(100))
}
