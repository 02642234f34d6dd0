// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// csr makes a request with a new key.
func csr(t *testing.T, change func(*x509.CertificateRequest), host *infrav1.RepaveHost) []byte {
	t.Helper()
	g := NewWithT(t)
	template := &x509.CertificateRequest{Subject: pkix.Name{
		CommonName: infrav1.HostUser(host.Namespace, host.Name), Organization: []string{infrav1.HostGroup},
	}}
	if change != nil {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	g.Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: certificateRequestBlock, Bytes: der})
}

func (s *site) enrol(t *testing.T, host *infrav1.RepaveHost, order, credential string, request []byte) reply {
	t.Helper()
	body, err := json.Marshal(orderv1.CertificateRequest{CSR: request})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	header := http.Header{"Authorization": {"Bearer " + credential}}
	return send(t, http.MethodPost, s.urls.CertificateURL(host.Namespace, host.Name, order), body, header)
}

func redeemedHost(t *testing.T) *infrav1.RepaveHost {
	t.Helper()
	return newHost(t, func(h *infrav1.RepaveHost) {
		h.Status.Operation.Step = infrav1.StepProving
		h.Status.Netboot = &infrav1.NetbootStatus{RedeemedOrder: "op.1"}
	})
}

func requestOf(t *testing.T, host *infrav1.RepaveHost) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	found := &certificatesv1.CertificateSigningRequest{}
	NewWithT(t).Expect(api.Get(t.Context(), client.ObjectKey{Name: requestName(host, "op.1")}, found)).To(Succeed())
	return found
}

func conclude(t *testing.T, request *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) {
	t.Helper()
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: "Test",
	})
	NewWithT(t).Expect(api.SubResource("approval").Update(t.Context(), request)).To(Succeed())
}

// sign does what kube-controller-manager does with an approved request.
func sign(t *testing.T, request *certificatesv1.CertificateSigningRequest) []byte {
	t.Helper()
	g := NewWithT(t)
	parsed, err := x509.ParseCertificateRequest(firstBlock(request.Spec.Request, certificateRequestBlock))
	g.Expect(err).NotTo(HaveOccurred())
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: parsed.Subject, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, parsed.PublicKey, key)
	g.Expect(err).NotTo(HaveOccurred())
	request.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	g.Expect(api.Status().Update(t.Context(), request)).To(Succeed())
	return request.Status.Certificate
}

func TestCertificate(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := redeemedHost(t)
	credential := siteKey.Credential(string(host.UID), "op.1")
	mine := csr(t, nil, host)

	waiting := s.enrol(t, host, "op.1", credential, mine)
	g.Expect(waiting.status).To(Equal(http.StatusAccepted), waiting.body)
	g.Expect(waiting.header.Get("Retry-After")).To(Equal("1"))

	request := requestOf(t, host)
	g.Expect(request.Labels).To(Equal(map[string]string{infrav1.LabelHost: host.Namespace + ".h1"}))
	g.Expect(request.Annotations).To(Equal(map[string]string{infrav1.AnnotationOrder: "op.1"}))
	g.Expect(request.Spec.SignerName).To(Equal(certificatesv1.KubeAPIServerClientSignerName))
	g.Expect(*request.Spec.ExpirationSeconds).To(BeEquivalentTo(90*24*3600), "no less than a renewal: a weekend without power must not cost the host its disk")
	g.Expect(request.Spec.Usages).To(ConsistOf(certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature))

	// Asked again, also with other white space: the same request. Another key: refused.
	g.Expect(s.enrol(t, host, "op.1", credential, append(mine, '\n', '\n')).status).To(Equal(http.StatusAccepted))
	g.Expect(s.enrol(t, host, "op.1", credential, csr(t, nil, host)).status).To(Equal(http.StatusConflict))

	conclude(t, request, certificatesv1.CertificateApproved)
	g.Expect(s.enrol(t, host, "op.1", credential, mine).status).To(Equal(http.StatusAccepted))
	signed := sign(t, request)
	var got orderv1.Certificate
	s.enrol(t, host, "op.1", credential, mine).into(t, &got)
	g.Expect(got.Certificate).To(Equal(signed))
	g.Expect(s.enrol(t, host, "op.1", credential, csr(t, nil, host)).status).To(Equal(http.StatusConflict))

	operate(t, host, func(op *infrav1.Operation) { op.Attempt = 2 })
	g.Expect(s.enrol(t, host, "op.1", credential, mine).status).To(Equal(http.StatusForbidden))
	s.keepsSecrets(t, host, s.said(), "op.1")
}

// TestALostStatusDoesNotKeepTheAgentOut: the record says that the plan was handed out; another attempt would wipe the disk again.
func TestALostStatusDoesNotKeepTheAgentOut(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := redeemedHost(t)
	updateStatus(t, host, func(status *infrav1.RepaveHostStatus) { status.Netboot = nil })
	g.Expect(s.enrol(t, host, "op.1", siteKey.Credential(string(host.UID), "op.1"), csr(t, nil, host)).status).To(Equal(http.StatusAccepted))
	g.Expect(post(t, s.verb(host, "op.1", orderv1.VerbPlan), nil).status).To(Equal(http.StatusForbidden))
}

func TestADeniedCertificateIsRefused(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := redeemedHost(t)
	credential, mine := siteKey.Credential(string(host.UID), "op.1"), csr(t, nil, host)
	g.Expect(s.enrol(t, host, "op.1", credential, mine).status).To(Equal(http.StatusAccepted))
	conclude(t, requestOf(t, host), certificatesv1.CertificateDenied)
	g.Expect(s.enrol(t, host, "op.1", credential, mine).status).To(Equal(http.StatusForbidden))
}

func TestCertificateRefusals(t *testing.T) {
	s := startSite(t, nil)
	host, neighbour := redeemedHost(t), redeemedHost(t)
	installing := newHost(t, nil)
	credential := siteKey.Credential(string(host.UID), "op.1")
	for name, c := range map[string]struct {
		host       *infrav1.RepaveHost
		credential string
		request    []byte
		want       int
	}{
		"the token for the credential": {host, siteKey.Token(string(host.UID), "op.1"), csr(t, nil, host), http.StatusForbidden},
		"another host's credential":    {host, siteKey.Credential(string(neighbour.UID), "op.1"), csr(t, nil, host), http.StatusForbidden},
		"no credential":                {host, "", csr(t, nil, host), http.StatusForbidden},
		"an order not redeemed":        {installing, siteKey.Credential(string(installing.UID), "op.1"), csr(t, nil, installing), http.StatusForbidden},
		"no request":                   {host, credential, nil, http.StatusBadRequest},
		"a broken request":             {host, credential, []byte("-----BEGIN CERTIFICATE REQUEST-----\nMA==\n-----END CERTIFICATE REQUEST-----\n"), http.StatusBadRequest},
		"two requests":                 {host, credential, append(csr(t, nil, host), csr(t, nil, host)...), http.StatusBadRequest},
		"another host's subject":       {host, credential, csr(t, nil, neighbour), http.StatusBadRequest},
		"another group": {host, credential, csr(t, func(r *x509.CertificateRequest) {
			r.Subject.Organization = append(r.Subject.Organization, "system:masters")
		}, host), http.StatusBadRequest},
		"an alternative name": {host, credential, csr(t, func(r *x509.CertificateRequest) { r.DNSNames = []string{"x.example"} }, host), http.StatusBadRequest},
		"a URI":               {host, credential, csr(t, func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, host), http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(s.enrol(t, c.host, "op.1", c.credential, c.request).status).To(Equal(c.want))
			found := &certificatesv1.CertificateSigningRequest{}
			g.Expect(client.IgnoreNotFound(api.Get(t.Context(), client.ObjectKey{Name: requestName(c.host, "op.1")}, found))).To(Succeed())
			g.Expect(found.Name).To(BeEmpty(), "a request was created")
		})
	}
}

func TestHostLabelsFit(t *testing.T) {
	g := NewWithT(t)
	host := &infrav1.RepaveHost{}
	host.Namespace, host.Name = "ns", "h1"
	g.Expect(hostLabel(host)).To(Equal("ns.h1"))
	host.Name = strings.Repeat("h", 100)
	g.Expect(len(hostLabel(host))).To(BeNumerically("<=", 63))
	g.Expect(hostLabel(host)).To(HavePrefix("sha256-"))
}
