// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/repave-io/cluster-api-provider-repave/agent"
	"github.com/repave-io/cluster-api-provider-repave/agent/step/steptest"
	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
)

// What must never be seen in a log.
const (
	credential = "one-time-credential-of-the-order"
	joinToken  = "abcdef.0123456789abcdef"
	pullSecret = "pull-password"
)

const patience = 30 * time.Second

// The control plane signs certificates and keeps agents to their own host, as in production.
var shared = lab.NewShared(lab.Options{CRDDirs: []string{"../config/crd"}, ControllerManager: true}, func(c *lab.ControlPlane, ctx context.Context) error {
	for _, name := range []string{"rbac/agent.yaml", "admission/agent-status.yaml", "admission/agent-lease.yaml"} {
		manifest, err := os.ReadFile(filepath.Join("../config", name))
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, manifest); err != nil {
			return err
		}
	}
	return nil
})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// site is a host with what its controllers would do for it: Role, Lease, Secrets, certificates.
type site struct {
	*WithT
	t      *testing.T
	admin  client.Client
	box    *steptest.Box
	root   string
	config orderv1.AgentConfig
	log    *logged
}

// logged is a log that several goroutines write.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newSite(t *testing.T) *site {
	t.Helper()
	cp := shared.ControlPlane(t)
	scheme := runtime.NewScheme()
	s := &site{WithT: NewWithT(t), t: t, box: steptest.New("sha256:" + hex('a')), root: t.TempDir(), log: &logged{}}
	s.SetDefaultEventuallyTimeout(patience)
	s.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	s.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	s.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	var err error
	s.admin, err = client.New(cp.RESTConfig(), client.Options{Scheme: scheme})
	s.Expect(err).NotTo(HaveOccurred())

	namespace := cp.Namespace(t)
	netboot := httptest.NewServer(http.HandlerFunc(s.certificate))
	t.Cleanup(netboot.Close)
	s.config = orderv1.AgentConfig{
		Version: orderv1.AgentConfigVersion, Host: orderv1.Host{Namespace: namespace, Name: "h1"},
		APIServer: orderv1.APIServer{URL: cp.Server(), CA: cp.CA()},
		Enrolment: &orderv1.Enrolment{URL: netboot.URL, Credential: credential},
		Install:   orderv1.Install{Order: "7.1", Digest: "sha256:" + hex('e')},
	}
	s.createHost(namespace)
	s.writeConfig()
	return s
}

// createHost makes the host with all that its controllers would make beside it.
func (s *site) createHost(namespace string) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: infrav1.AgentRoleName("h1")}
	join := bootstrapv1.AgentJoin{Version: bootstrapv1.AgentJoinVersion, Token: joinToken}
	join.Cluster.Name, join.Cluster.Server, join.Cluster.CA = "c", "https://10.0.0.1:6443", []byte("ca")
	data, err := json.Marshal(join)
	s.Expect(err).NotTo(HaveOccurred())
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	for _, object := range []client.Object{
		&infrav1.RepaveHost{ObjectMeta: named("h1"), Spec: infrav1.RepaveHostSpec{
			Desired: &infrav1.HostDesired{BootstrapDataSecretName: "join", ProviderID: "repave://ns/h1/m1"},
		}},
		&coordinationv1.Lease{ObjectMeta: named(infrav1.LeaseName("h1"))},
		&corev1.Secret{ObjectMeta: named("join"), Data: map[string][]byte{bootstrapv1.SecretKey: data}},
		&corev1.Secret{ObjectMeta: named("pull"), Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{
			corev1.DockerConfigJsonKey: []byte(`{"auths":{"r":{"password":"` + pullSecret + `"}}}`),
		}},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{infrav1.GroupVersion.Group}, Resources: []string{"repavehosts"}, ResourceNames: []string{"h1"}, Verbs: []string{"get", "watch"}},
			{APIGroups: []string{infrav1.GroupVersion.Group}, Resources: []string{"repavehosts/status"}, ResourceNames: []string{"h1"}, Verbs: []string{"patch"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"join", "pull"}, Verbs: []string{"get"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{infrav1.LeaseName("h1")}, Verbs: []string{"patch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: infrav1.HostUser(namespace, "h1")}},
		},
	} {
		s.Expect(s.admin.Create(s.t.Context(), object)).To(Succeed())
	}
	s.installed("repave://ns/h1/m1")
}

// installed is the Host controller's word on the claim whose install is proven.
func (s *site) installed(providerID string) {
	host := s.host()
	before := client.MergeFrom(host.DeepCopy())
	host.Status.Installed = providerID
	s.Expect(s.admin.Status().Patch(s.t.Context(), host, before)).To(Succeed())
}

func (s *site) writeConfig() {
	raw, err := json.Marshal(s.config)
	s.Expect(err).NotTo(HaveOccurred())
	name := filepath.Join(s.root, orderv1.AgentConfigPath)
	s.Expect(os.MkdirAll(filepath.Dir(name), 0o755)).To(Succeed())
	s.Expect(os.WriteFile(name, raw, 0o600)).To(Succeed())
}

// certificate is the netboot server's part of an enrolment: a request of its own, approved, and 202 until it is signed.
func (s *site) certificate(w http.ResponseWriter, r *http.Request) {
	var request orderv1.CertificateRequest
	if r.Header.Get("Authorization") != "Bearer "+credential || json.NewDecoder(r.Body).Decode(&request) != nil {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	block, _ := pem.Decode(request.CSR)
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("enrol-%x", block.Bytes[len(block.Bytes)-8:])},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request.CSR, SignerName: certificatesv1.KubeAPIServerClientSignerName, ExpirationSeconds: ptr.To[int32](3600),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}
	if err := s.admin.Create(r.Context(), csr); err == nil {
		s.approve(csr)
	}
	if err := s.admin.Get(r.Context(), client.ObjectKeyFromObject(csr), csr); err != nil || len(csr.Status.Certificate) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	_ = json.NewEncoder(w).Encode(orderv1.Certificate{Certificate: csr.Status.Certificate})
}

func (s *site) approve(csr *certificatesv1.CertificateSigningRequest) {
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	if err := s.admin.SubResource("approval").Update(context.Background(), csr); err != nil {
		s.t.Errorf("approving: %v", err)
	}
}

// start runs an agent until stop is called or the host reboots; gone is closed when it has ended.
func (s *site) start(change ...func(*agent.Options)) (stop func(), gone <-chan struct{}) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	s.box.OnReboot = cancel
	s.Expect(os.MkdirAll(filepath.Join(s.root, "run"), 0o755)).To(Succeed())
	s.Expect(os.WriteFile(filepath.Join(s.root, "run/boot_id"), []byte(s.box.BootID()), 0o600)).To(Succeed())
	o := agent.Options{
		// Whatever happens within a story happens because the agent was told, not because it was time to look.
		Root: s.root, Driver: s.box, Version: "v1", BootIDPath: "run/boot_id", LookEvery: time.Hour,
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, each := range change {
		each(&o)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := agent.Run(ctx, o); err != nil {
			s.t.Errorf("running: %v", err)
		}
	}()
	stop = func() { cancel(); <-ended }
	s.t.Cleanup(stop)
	return stop, ended
}

// looking makes an agent look at its host all the time.
func looking(o *agent.Options) { o.LookEvery = 100 * time.Millisecond }

func (s *site) host() *infrav1.RepaveHost {
	var host infrav1.RepaveHost
	if err := s.admin.Get(s.t.Context(), client.ObjectKey{Namespace: s.config.Host.Namespace, Name: "h1"}, &host); err != nil {
		s.t.Error(err)
	}
	return &host
}

// agentStatus is what the host's agent reports; the zero value before it does.
func (s *site) agentStatus() infrav1.AgentStatus {
	if reported := s.host().Status.Agent; reported != nil {
		return *reported
	}
	return infrav1.AgentStatus{}
}

func (s *site) wish(digest string, state infrav1.DesiredState) {
	host := s.host()
	before := client.MergeFrom(host.DeepCopy())
	host.Spec.Desired.Image = &infrav1.Image{Ref: "registry.example/os@" + digest, PullSecretRef: &infrav1.SecretReference{Name: "pull"}}
	host.Spec.Desired.State = state
	s.Expect(s.admin.Patch(s.t.Context(), host, before)).To(Succeed())
}

func (s *site) noSecretIsLogged() {
	for _, secret := range []string{credential, joinToken, pullSecret, "PRIVATE KEY"} {
		s.Expect(s.log.String()).NotTo(ContainSubstring(secret))
	}
}

func hex(digit byte) string { return string(bytes.Repeat([]byte{digit}, 64)) }
