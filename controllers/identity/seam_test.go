// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/metal/netboot"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

// noImages is a store that was never asked for anything.
type noImages struct{}

func (noImages) Start(string, *image.Credentials) image.Progress { return image.Progress{} }
func (noImages) Progress(string) image.Progress                  { return image.Progress{} }
func (noImages) Lookup(string) (image.Image, bool)               { return image.Image{}, false }

// What the netboot server asks for is what the approver approves: the two rooms share the annotation, the usages, the
// lifetime and the subject.
func TestTheNetbootServersRequestIsApproved(t *testing.T) {
	g := NewWithT(t)
	key, err := order.NewKey()
	g.Expect(err).NotTo(HaveOccurred())
	server, err := netboot.New(netboot.Options{
		BaseURL: "http://netboot", APIServer: orderv1.APIServer{URL: config.Host}, Key: key,
		Store: noImages{}, Client: as(t, netbootUser), APIReader: admin, Recorder: recorder,
	})
	g.Expect(err).NotTo(HaveOccurred())
	host := newHost(t, nil)
	body, err := json.Marshal(orderv1.CertificateRequest{CSR: request(t, host, nil).Spec.Request})
	g.Expect(err).NotTo(HaveOccurred())
	post := httptest.NewRequest(http.MethodPost, order.URLs{Base: "http://netboot"}.CertificateURL(host.Namespace, host.Name, "op.1"), bytes.NewReader(body))
	post.Header.Set("Authorization", "Bearer "+key.Credential(string(host.UID), "op.1"))
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, post)
	g.Expect(answer.Code).To(Equal(http.StatusAccepted), answer.Body.String())

	g.Eventually(func(g Gomega) {
		found := &certificatesv1.CertificateSigningRequestList{}
		g.Expect(admin.List(t.Context(), found, client.MatchingLabels{infrav1.LabelHost: host.Namespace + "." + host.Name})).To(Succeed())
		g.Expect(found.Items).To(HaveLen(1))
		g.Expect(found.Items[0].Spec.Username).To(Equal(netbootUser))
		g.Expect(found.Items[0].Status.Conditions).To(ConsistOf(HaveField("Type", certificatesv1.CertificateApproved)))
	}, soon, 20*time.Millisecond).Should(Succeed())
	g.Eventually(recorder.Events, soon).Should(Receive(HavePrefix("Normal CertificateIssued")))
}
