// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var (
	scheme = runtime.NewScheme()
	config *rest.Config
	live   client.Client
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return 1, err
	}
	capi, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return 1, fmt.Errorf("finding Cluster API's CRDs: %w", err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: filepath.Join(root, "bin"),
		ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths: []string{
			filepath.Join(root, "config/crd"),
			filepath.Join(strings.TrimSpace(string(capi)), "core/config/crd/bases"),
		},
	}
	if config, err = environment.Start(); err != nil {
		return 1, fmt.Errorf("starting the control plane (make controlplane builds it): %w", err)
	}
	defer func() {
		if stopped := environment.Stop(); err == nil {
			err = stopped
		}
	}()
	config.QPS, config.Burst = 500, 1000
	if live, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// digest gives a whole digest for a letter of the hexadecimal alphabet.
func digest(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }

func image(letter string) *infrav1.Image {
	return &infrav1.Image{Ref: "registry.example/os@" + digest(letter)}
}

// story is a pool in a namespace of its own, with a reconciler that is called by hand.
type story struct {
	*WithT
	ctx        context.Context
	namespace  string
	pool       *infrav1.RepaveMachinePool
	owner      *clusterv1.MachinePool
	spy        *spy
	recorder   *recorder
	reconciler *Reconciler
}

// tell starts a story with a Cluster and a MachinePool; change may alter both kinds of pool before they are created.
func tell(t *testing.T, replicas int32, change ...func(*clusterv1.MachinePool, *infrav1.RepaveMachinePool)) *story {
	t.Helper()
	s := &story{WithT: NewWithT(t), ctx: t.Context(), recorder: &recorder{}, spy: &spy{Client: live}}
	s.reconciler = &Reconciler{Client: s.spy, APIReader: live, Recorder: s.recorder, Suffix: func() string { return rand.String(5) }}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "pool-"}}
	s.Expect(live.Create(s.ctx, namespace)).To(Succeed())
	s.namespace = namespace.Name
	s.Expect(live.Create(s.ctx, &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "c1"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "RepaveCluster", Name: "c1",
		}},
	})).To(Succeed())
	secret := "data"
	s.owner = &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "workers"},
		Spec: clusterv1.MachinePoolSpec{ClusterName: "c1", Replicas: &replicas, Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: "c1", Bootstrap: clusterv1.Bootstrap{DataSecretName: &secret},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "RepaveMachinePool", Name: "p1"},
		}}},
	}
	s.pool = &infrav1.RepaveMachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "p1"},
		Spec: infrav1.RepaveMachinePoolSpec{Template: infrav1.PoolMachineTemplate{
			ObjectMeta: infrav1.TemplateMeta{Labels: map[string]string{"tier": "gold"}},
			Spec:       infrav1.RepaveMachineSpec{Image: image("a")},
		}},
	}
	for _, c := range change {
		c(s.owner, s.pool)
	}
	s.Expect(live.Create(s.ctx, s.owner)).To(Succeed())
	s.pool.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.owner, clusterv1.GroupVersion.WithKind("MachinePool"))}
	s.Expect(live.Create(s.ctx, s.pool)).To(Succeed())
	return s
}

// reconcile lets the pool look so often.
func (s *story) reconcile(times int) {
	for range times {
		_, err := s.reconciler.Reconcile(s.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.pool)})
		s.Expect(err).NotTo(HaveOccurred())
	}
}

// settled lets the pool look until it has nothing more to write.
func (s *story) settled() {
	for range 20 {
		s.spy.writes = 0
		s.reconcile(1)
		if s.spy.writes == 0 {
			s.Expect(client.IgnoreNotFound(live.Get(s.ctx, client.ObjectKeyFromObject(s.pool), s.pool))).To(Succeed())
			return
		}
	}
	s.Expect(s.spy.writes).To(BeZero(), "still writing after 20 looks")
}

// members are the machines by name; adopted ones have a Machine.
func (s *story) members() []infrav1.RepaveMachine {
	list := &infrav1.RepaveMachineList{}
	s.Expect(live.List(s.ctx, list, client.InNamespace(s.namespace))).To(Succeed())
	return list.Items
}
