// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const soon = 10 * time.Second

func splitDocument(content []byte) (first, second []byte, ok bool) {
	return bytes.Cut(content, []byte("\n---\n"))
}

// request is what the netboot server makes of an agent's request for its first certificate.
func request(t *testing.T, host *infrav1.RepaveHost, change func(*x509.CertificateRequest)) *certificatesv1.CertificateSigningRequest {
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
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "agent-",
			Labels:       map[string]string{infrav1.LabelHost: host.Name},
			Annotations:  map[string]string{infrav1.AnnotationOrder: "op.1"},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName:        certificatesv1.KubeAPIServerClientSignerName,
			ExpirationSeconds: ptr.To[int32](86400),
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
}

func eventually(t *testing.T, request *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, message string) {
	t.Helper()
	g := NewWithT(t)
	g.Eventually(func() ([]certificatesv1.CertificateSigningRequestCondition, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(request), request)
		return request.Status.Conditions, err
	}, soon, 20*time.Millisecond).Should(ConsistOf(SatisfyAll(HaveField("Type", kind), HaveField("Message", ContainSubstring(message)))))
	want := fmt.Sprintf("Normal CertificateIssued Certificate request %s: ", request.Name)
	if kind == certificatesv1.CertificateDenied {
		want = fmt.Sprintf("Warning CertificateRefused Certificate request %s: ", request.Name)
	}
	g.Eventually(recorder.Events, soon).Should(Receive(HavePrefix(want)))
}

func TestFirstCertificateAndRenewal(t *testing.T) {
	g := NewWithT(t)
	host := newHost(t, nil)
	first := request(t, host, nil)
	g.Expect(as(t, netbootUser).Create(t.Context(), first)).To(Succeed())
	eventually(t, first, certificatesv1.CertificateApproved, "first certificate of order op.1")

	renewed := request(t, host, nil)
	renewed.Annotations = nil
	agent := as(t, infrav1.HostUser(host.Namespace, host.Name), infrav1.HostGroup)
	g.Expect(agent.Create(t.Context(), renewed)).To(Succeed())
	eventually(t, renewed, certificatesv1.CertificateApproved, "renewal")
	g.Expect(agent.Get(t.Context(), client.ObjectKeyFromObject(renewed), renewed)).To(Succeed())
}

// TestALostStatusDeniesNothing: a denial is for good, and another attempt would wipe the disk again.
func TestALostStatusDeniesNothing(t *testing.T) {
	host := newHost(t, func(h *infrav1.RepaveHost) { h.Status.Netboot = nil })
	first := request(t, host, nil)
	NewWithT(t).Expect(as(t, netbootUser).Create(t.Context(), first)).To(Succeed())
	eventually(t, first, certificatesv1.CertificateApproved, "first certificate of order op.1")
}

func TestDenials(t *testing.T) {
	for name, c := range map[string]struct {
		host    func(*infrav1.RepaveHost)
		subject func(*x509.CertificateRequest)
		change  func(*certificatesv1.CertificateSigningRequest)
		as      func(*infrav1.RepaveHost) (string, []string)
		want    string
	}{
		"an order that was not redeemed": {
			host: func(h *infrav1.RepaveHost) {
				h.Status.Netboot, h.Status.Operation.Step = nil, infrav1.StepInstalling
			}, want: "the plan of order op.1 was not handed out",
		},
		"an outdated order": {
			host: func(h *infrav1.RepaveHost) { h.Status.Operation.Attempt = 2 }, want: "order op.1 is not the current order",
		},
		"an operation that ended": {
			host: func(h *infrav1.RepaveHost) { h.Status.Operation = nil }, want: "no install of the host is open",
		},
		"an operation that gave up": {
			host: func(h *infrav1.RepaveHost) { h.Status.Operation.Step = infrav1.StepGaveUp }, want: "no install of the host is open",
		},
		"an unreadable record": {
			host: func(h *infrav1.RepaveHost) { h.Annotations = map[string]string{infrav1.AnnotationRecord: "{"} }, want: "no install of the host is open",
		},
		"another agent": {
			as: func(h *infrav1.RepaveHost) (string, []string) {
				return infrav1.HostUser(h.Namespace, "h2"), []string{infrav1.HostGroup}
			},
			want: "may not ask for the certificate of a host",
		},
		"one more group": {
			subject: func(r *x509.CertificateRequest) { r.Subject.Organization = append(r.Subject.Organization, "admins") },
			want:    "the organization must be",
		},
		"an alternative name": {
			subject: func(r *x509.CertificateRequest) { r.DNSNames = []string{"x.example"} }, want: "no alternative names",
		},
		"one more part of the subject": {
			subject: func(r *x509.CertificateRequest) { r.Subject.Country = []string{"FR"} }, want: "no other parts of a subject",
		},
		"no lifetime": {
			change: func(r *certificatesv1.CertificateSigningRequest) { r.Spec.ExpirationSeconds = nil }, want: "expirationSeconds must be set",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			host := newHost(t, c.host)
			asked := request(t, host, c.subject)
			if c.change != nil {
				c.change(asked)
			}
			user, groups := netbootUser, []string(nil)
			if c.as != nil {
				user, groups = c.as(host)
			}
			g.Expect(as(t, user, groups...).Create(t.Context(), asked)).To(Succeed())
			eventually(t, asked, certificatesv1.CertificateDenied, c.want)
		})
	}
}

func TestRequestsOfOthersAreLeftAlone(t *testing.T) {
	g := NewWithT(t)
	host := newHost(t, nil)
	other := request(t, host, func(r *x509.CertificateRequest) { r.Subject = pkix.Name{CommonName: "alice"} })
	other.Labels, other.Annotations = nil, nil
	g.Expect(admin.Create(t.Context(), other)).To(Succeed())
	// Requests are looked at in the order in which they come: when a later one is decided, the first one was looked at.
	later := request(t, host, nil)
	g.Expect(as(t, netbootUser).Create(t.Context(), later)).To(Succeed())
	eventually(t, later, certificatesv1.CertificateApproved, "first certificate")
	g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(other), other)).To(Succeed())
	g.Expect(other.Status.Conditions).To(BeEmpty())
}

func TestHostsOfOtherInstancesAreLeftAlone(t *testing.T) {
	g := NewWithT(t)
	host := newHost(t, nil)
	view := viewRequest(request(t, host, nil))
	g.Expect((&Reconciler{}).ours(view, host)).To(BeTrue())
	g.Expect((&Reconciler{Namespace: host.Namespace}).ours(view, host)).To(BeTrue())
	g.Expect((&Reconciler{Namespace: "elsewhere"}).ours(view, host)).To(BeFalse())
	g.Expect((&Reconciler{WatchFilterValue: "theirs"}).ours(view, host)).To(BeFalse())
}
