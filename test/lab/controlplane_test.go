// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestTwoLabsAtOnce(t *testing.T) {
	g := NewWithT(t)
	crds := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(crds, "widgets.yaml"), []byte(widgetCRD("widgets", "Widget")), 0o600)).To(Succeed())
	type outcome struct {
		lab *ControlPlane
		err error
	}
	outcomes := make(chan outcome, 2)
	for range 2 {
		go func() {
			c, err := StartControlPlane(t.Context(), Options{ControllerManager: true, CRDDirs: []string{crds}, Log: t.Output()})
			outcomes <- outcome{c, err}
		}()
	}
	var labs []*ControlPlane
	var problems []error
	for range 2 {
		o := <-outcomes
		if o.lab != nil {
			labs = append(labs, o.lab)
			defer func() { g.Expect(o.lab.Stop()).To(Succeed()) }()
		}
		problems = append(problems, o.err)
	}
	g.Expect(problems).To(HaveEach(Succeed()))
	one, other := labs[0], labs[1]
	g.Expect(one.Server()).NotTo(Equal(other.Server()))

	stranger := one.RESTConfig()
	stranger.Host = other.Server()
	_, err := kubernetes.NewForConfigOrDie(stranger).Discovery().ServerVersion()
	g.Expect(err).To(HaveOccurred(), "one lab's admin is nobody in the other")

	signsCertificates(t, one)
	g.Expect(one.Apply(t.Context(), []byte(widget("Widget", "w1")))).To(Succeed(), "the CRDs of the options are served")

	for _, c := range labs {
		var pids []int
		for _, p := range c.Processes() {
			rss, err := p.RSS()
			g.Expect(err).NotTo(HaveOccurred())
			t.Logf("%s: %d MB", p.Name(), rss>>20)
			pids = append(pids, p.PID())
			group, err := syscall.Getpgid(p.PID())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(group).To(Equal(p.PID()), "ctrl-C in the terminal must not reach %s", p.Name())
		}
		g.Expect(pids).To(HaveLen(3))
		begin := time.Now()
		g.Expect(c.Stop()).To(Succeed())
		t.Logf("stopped in %s", time.Since(begin).Round(time.Millisecond))
		for _, pid := range pids {
			g.Expect(lives(pid)).To(BeFalse())
		}
		g.Expect(c.Dir()).NotTo(BeADirectory())
		_, err := c.Start(t.Context(), "late", "/bin/true", nil, nil)
		g.Expect(err).To(MatchError(ContainSubstring("stopped")))
	}
}

// signsCertificates asks the lab's kube-controller-manager for a client certificate and logs in with it.
func signsCertificates(t *testing.T, c *ControlPlane) {
	t.Helper()
	g := NewWithT(t)
	admin := kubernetes.NewForConfigOrDie(c.RESTConfig())
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	subject := pkix.Name{CommonName: "repave:host:h1", Organization: []string{"repave:hosts"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	g.Expect(err).NotTo(HaveOccurred())

	requests := admin.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "h1"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"},
	}
	_, err = requests.UpdateApproval(t.Context(), "h1", request, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() ([]byte, error) {
		signed, err := requests.Get(t.Context(), "h1", metav1.GetOptions{})
		request = signed
		return signed.Status.Certificate, err
	}, "30s", "50ms").ShouldNot(BeEmpty())

	keyPEM, err := encodeKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	host := &rest.Config{
		Host:            c.Server(),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.CA(), CertData: request.Status.Certificate, KeyData: keyPEM},
	}
	_, err = kubernetes.NewForConfigOrDie(host).Discovery().ServerVersion()
	g.Expect(err).NotTo(HaveOccurred())
}

func TestKubeconfigLeadsToTheServer(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Host).To(Equal(c.Server()))
	version, err := kubernetes.NewForConfigOrDie(config).Discovery().ServerVersion()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version.GitVersion).To(Equal("v1.36.4"), "an unstamped binary would say v0.0.0-master")
}

func TestNameIsFreeAgainAfterTheEnd(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	begin := func() (*Process, error) {
		return c.Start(t.Context(), "guest", "/bin/sh", []string{"-c", `echo "$KUBECONFIG $WHO"; exec sleep 600`}, []string{"WHO=me"})
	}
	first, err := begin()
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() string { return first.Tail(1) }, "10s", "20ms").Should(Equal(c.Kubeconfig() + " me"))
	_, err = begin()
	g.Expect(err).To(MatchError(ContainSubstring("runs already")))
	first.Kill()
	g.Expect(first.Err()).To(HaveOccurred(), "killed is not a success")
	second, err := begin()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Processes()).To(ContainElement(second))
	g.Expect(c.Processes()).NotTo(ContainElement(first))
	g.Expect(second.Stop(t.Context())).To(Succeed())
}

func TestNamespaceIsFreshAndUsable(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	namespace := c.Namespace(t)
	g.Expect(c.Namespace(t)).NotTo(Equal(namespace))
	// Without kube-controller-manager there is no ServiceAccount, and a pod is accepted all the same.
	g.Expect(c.Apply(t.Context(), []byte(`
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: `+namespace+`}
spec: {containers: [{name: c, image: none}]}
`))).To(Succeed())
}
