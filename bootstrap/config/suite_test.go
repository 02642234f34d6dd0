// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// One API server is the management cluster and the workload cluster of all tests.
var (
	scheme     = runtime.NewScheme()
	restConfig *rest.Config
	access     []byte // its kubeconfig
	live       client.Client
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
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme} {
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
	environment.ControlPlane.GetAPIServer().Configure().Set("enable-bootstrap-token-auth", "true")
	if restConfig, err = environment.Start(); err != nil {
		return 1, fmt.Errorf("starting the control plane (make controlplane builds it): %w", err)
	}
	defer func() {
		if stopped := environment.Stop(); err == nil {
			err = stopped
		}
	}()
	restConfig.QPS, restConfig.Burst = 500, 1000
	access = environment.KubeConfig
	if live, err = client.New(restConfig, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// workload leads to the one API server, unless the connection is cut; it counts the writes there.
type workload struct {
	client.Client
	cut    bool
	writes int
}

func (w *workload) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	if w.cut {
		return nil, fmt.Errorf("getting client: %w", clustercache.ErrClusterNotConnected)
	}
	return w, nil
}

func (w *workload) GetClusterSource(string, func(context.Context, client.Object) []ctrl.Request, ...clustercache.GetClusterSourceOption) source.Source {
	return source.Func(nil)
}

func (w *workload) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	w.writes++
	return w.Client.Create(ctx, o, opts...)
}

func (w *workload) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	w.writes++
	return w.Client.Update(ctx, o, opts...)
}

// story is a config in a namespace of its own, with a reconciler that is called by hand.
type story struct {
	*WithT
	ctx        context.Context
	namespace  string
	now        time.Time
	workload   *workload
	config     *bootstrapv1.RepaveConfig
	owner      client.Object
	reconciler *Reconciler
}

// tell starts a story with a connected Cluster; the config belongs to a MachinePool, or else to a Machine.
func tell(t *testing.T, pool bool) *story {
	t.Helper()
	s := &story{WithT: NewWithT(t), ctx: t.Context(), now: time.Now(), workload: &workload{Client: live}}
	s.reconciler = &Reconciler{Client: live, APIReader: live, Workload: s.workload, Now: func() time.Time { return s.now }}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "config-"}}
	s.Expect(live.Create(s.ctx, namespace)).To(Succeed())
	s.namespace = namespace.Name
	s.connect()
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Any", Name: "any"}
	bootstrap := clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
		APIGroup: bootstrapv1.GroupVersion.Group, Kind: "RepaveConfig", Name: "join",
	}}
	spec := clusterv1.MachineSpec{ClusterName: "c1", Bootstrap: bootstrap, InfrastructureRef: ref}
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: "owner"}
	kind := "Machine"
	s.owner = &clusterv1.Machine{ObjectMeta: meta, Spec: spec}
	if pool {
		kind = "MachinePool"
		s.owner = &clusterv1.MachinePool{ObjectMeta: meta, Spec: clusterv1.MachinePoolSpec{
			ClusterName: "c1", Template: clusterv1.MachineTemplateSpec{Spec: spec},
		}}
	}
	s.Expect(live.Create(s.ctx, s.owner)).To(Succeed())
	s.config = &bootstrapv1.RepaveConfig{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: "join", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.owner, clusterv1.GroupVersion.WithKind(kind))},
		},
		Spec: bootstrapv1.RepaveConfigSpec{Kubelet: bootstrapv1.Kubelet{NodeLabels: map[string]string{"rack": "r1"}}},
	}
	s.Expect(live.Create(s.ctx, s.config)).To(Succeed())
	return s
}

// connect makes a Cluster whose API server can be reached.
func (s *story) connect() {
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "c1"},
		Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443},
			InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Any", Name: "any"},
		},
	}
	s.Expect(live.Create(s.ctx, cluster)).To(Succeed())
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	s.Expect(live.Status().Update(s.ctx, cluster)).To(Succeed())
	s.Expect(live.Create(s.ctx, kubeconfig.GenerateSecret(cluster, access))).To(Succeed())
}

// reconcile lets the config be looked at until its Paused condition is there as well, and once more.
func (s *story) reconcile() ctrl.Result {
	var result ctrl.Result
	for range 2 {
		var err error
		result, err = s.reconciler.Reconcile(s.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.config)})
		s.Expect(err).NotTo(HaveOccurred())
	}
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.config), s.config)).To(Succeed())
	return result
}

// data reads the data Secret.
func (s *story) data() *corev1.Secret {
	data := &corev1.Secret{}
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.config), data)).To(Succeed())
	return data
}

// token reads the stored token of the config.
func (s *story) token() *corev1.Secret {
	token := &corev1.Secret{}
	s.Expect(live.Get(s.ctx, client.ObjectKey{Namespace: "kube-system", Name: "bootstrap-token-" + tokenID(s.config.UID)}, token)).To(Succeed())
	return token
}

// condition gives status and reason of a condition.
func (s *story) condition(kind string) string {
	for _, c := range s.config.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}
