// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// TestTokenLetsAHostIn asks the API server itself: with nothing but the data, a host can ask for its certificate.
func TestTokenLetsAHostIn(t *testing.T) {
	s := tell(t, true)
	s.reconcile()
	join := &bootstrapv1.AgentJoin{}
	s.Expect(json.Unmarshal(s.data().Data[bootstrapv1.SecretKey], join)).To(Succeed())
	host, err := client.New(&rest.Config{
		Host: join.Cluster.Server, BearerToken: join.Token, TLSClientConfig: rest.TLSClientConfig{CAData: join.Cluster.CA},
	}, client.Options{Scheme: scheme})
	s.Expect(err).NotTo(HaveOccurred())

	review := &authenticationv1.SelfSubjectReview{}
	s.Eventually(func() error { return host.Create(s.ctx, review) }, 20*time.Second).Should(Succeed())
	s.Expect(review.Status.UserInfo.Username).To(Equal("system:bootstrap:" + tokenID(s.config.UID)))
	s.Expect(review.Status.UserInfo.Groups).To(ContainElement("system:bootstrappers:repave"))

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.Expect(err).NotTo(HaveOccurred())
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}},
	}, key)
	s.Expect(err).NotTo(HaveOccurred())
	s.Eventually(func() error {
		return host.Create(s.ctx, &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "n1-"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
				Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
				Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			},
		})
	}, 20*time.Second).Should(Succeed())
	s.Expect(apierrors.IsForbidden(host.List(s.ctx, &corev1.SecretList{}))).To(BeTrue(), "and nothing more than that")

	for _, right := range rights {
		binding := &rbacv1.ClusterRoleBinding{}
		s.Expect(live.Get(s.ctx, client.ObjectKey{Name: right.name}, binding)).To(Succeed())
		s.Expect(live.Get(s.ctx, client.ObjectKey{Name: binding.RoleRef.Name}, &rbacv1.ClusterRole{})).To(Succeed(), "a role of Kubernetes itself")
	}
}

// TestInterruptedBetweenTokenAndData: the token of the first try is taken up by the second.
func TestInterruptedBetweenTokenAndData(t *testing.T) {
	s := tell(t, true)
	_, err := s.reconciler.keepToken(s.ctx, s.workload, s.config, "")
	s.Expect(err).NotTo(HaveOccurred())
	first := s.token().Data[tokenSecretKey]
	s.reconcile()
	s.Expect(bytes.Contains(s.data().Data[bootstrapv1.SecretKey], first)).To(BeTrue())
}

func TestTokenIsRenewedWhileNeeded(t *testing.T) {
	s := tell(t, false)
	s.reconcile()
	expires := func() time.Time {
		at, err := time.Parse(time.RFC3339, string(s.token().Data[tokenExpirationKey]))
		s.Expect(err).NotTo(HaveOccurred())
		return at
	}
	first, secret := expires(), s.token().Data[tokenSecretKey]
	s.Expect(first).To(BeTemporally("~", s.now.Add(24*time.Hour), time.Second))

	s.now = s.now.Add(11 * time.Hour)
	s.reconcile()
	s.Expect(expires()).To(Equal(first), "more than half of its life is left")
	s.now = s.now.Add(2 * time.Hour)
	s.reconcile()
	s.Expect(expires()).To(BeTemporally("~", s.now.Add(24*time.Hour), time.Second))
	s.Expect(s.token().Data[tokenSecretKey]).To(Equal(secret))

	machine := &clusterv1.Machine{}
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.owner), machine)).To(Succeed())
	machine.Status.NodeRef.Name = "n1"
	s.Expect(live.Status().Update(s.ctx, machine)).To(Succeed())
	s.now = s.now.Add(20 * time.Hour)
	s.reconcile()
	s.Expect(expires()).To(BeTemporally("~", s.now.Add(24*time.Hour), time.Second), "a repave lets the host join once more, whenever it comes")

	machine.Finalizers = []string{"test/keeps"}
	s.Expect(live.Update(s.ctx, machine)).To(Succeed())
	s.Expect(live.Delete(s.ctx, machine)).To(Succeed())
	renewed := expires()
	s.now = s.now.Add(20 * time.Hour)
	s.Expect(s.reconcile()).To(Equal(ctrl.Result{}), "nobody joins by it any more")
	s.Expect(expires()).To(Equal(renewed))
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	machine.Finalizers = nil
	s.Expect(live.Update(s.ctx, machine)).To(Succeed())
}
