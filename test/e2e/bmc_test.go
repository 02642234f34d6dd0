// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// A BMC that cannot be used says so in one word, its host is not touched and holds up no other, and mending the cause is all
// that a person has to do.
func TestABMCThatCannotBeUsedSaysWhyUntilItIsMended(t *testing.T) {
	t.Parallel()
	r := newRack(t, "bmc", 4)
	r.grantSecrets()
	nobody, err := lab.FreePort()
	r.Expect(err).NotTo(HaveOccurred())
	closed := fmt.Sprintf("https://127.0.0.1:%d", nobody)
	unreachable, denied, missing, healthy := r.fleet.Servers[0], r.fleet.Servers[1], r.fleet.Servers[2], r.fleet.Servers[3]
	r.enrol(unreachable, map[string]string{"BMC_ADDRESS": closed})
	r.enrol(denied, map[string]string{"BMC_PASSWORD": "not-" + bmcPassword})
	r.enrol(missing, nil)
	r.Expect(stage.client.Delete(r.ctx, r.secretOf(missing))).To(Succeed())
	r.Expect(r.patch(&infrav1.RepaveHost{}, missing.Name, `{"spec":{"bmc":{"credentialsRef":{"name":"nowhere"}}}}`)).To(Succeed())
	r.enrol(healthy, nil)

	r.hostSays(healthy.Name, infrav1.ConditionReady, infrav1.ReasonAvailable)
	for _, trouble := range []struct {
		server *sim.Server
		reason string
	}{
		{unreachable, infrav1.ReasonUnreachable}, {denied, infrav1.ReasonCredentialsInvalid}, {missing, infrav1.ReasonCredentialsMissing},
	} {
		c := r.hostSays(trouble.server.Name, infrav1.ConditionBMCReachable, trouble.reason)
		r.Expect(c.Status).To(Equal(metav1.ConditionFalse))
		r.Expect(c.Message).NotTo(BeEmpty(), "a person is told what it is about")
		r.hostSays(trouble.server.Name, infrav1.ConditionReady, trouble.reason)
		r.hostSays(trouble.server.Name, infrav1.ConditionDegraded, infrav1.ReasonError)
	}

	r.Expect(r.patch(&infrav1.RepaveHost{}, unreachable.Name, fmt.Sprintf(`{"spec":{"bmc":{"address":%q}}}`, unreachable.BMC.URL()))).To(Succeed())
	r.enrol(denied, nil)
	r.enrol(missing, nil) // the Secret is there again, and named
	for _, server := range r.fleet.Servers {
		r.hostSays(server.Name, infrav1.ConditionReady, infrav1.ReasonAvailable)
		r.hostSays(server.Name, infrav1.ConditionDegraded, infrav1.ReasonHealthy)
	}
	r.untouched(r.fleet.Servers...)
}

// Without the RoleBinding of templates/namespace-access.yaml no Secret of the namespace is read, and the message says what to bind.
func TestANamespaceThatGrantsNoSecretsIsToldSo(t *testing.T) {
	t.Parallel()
	r := newRack(t, "rbac", 1)
	server := r.fleet.Servers[0]
	r.enrol(server, nil)
	c := r.hostSays(server.Name, infrav1.ConditionReady, infrav1.ReasonSecretForbidden)
	r.Expect(c.Message).To(ContainSubstring(r.namespace))
	r.Expect(server.BMC.Requests()).To(BeZero(), "nobody calls a BMC without credentials")

	r.grantSecrets()
	r.hostSays(server.Name, infrav1.ConditionReady, infrav1.ReasonAvailable)
}

// Another certificate than the pinned one may be an impostor's: he gets no password, until a person pins it.
func TestAnotherCertificateIsRefusedUntilItIsPinned(t *testing.T) {
	t.Parallel()
	r := ready(t, "cert", 1)
	server := r.fleet.Servers[0]
	r.hostSays(server.Name, infrav1.ConditionReady, infrav1.ReasonAvailable)
	pinned := r.host(r, server.Name).Status.BMC.CertificateFingerprint
	r.Expect(pinned).To(Equal(server.BMC.Fingerprint()))

	r.Expect(server.BMC.Faults().SwapCertificate()).To(Succeed())
	// A free host is read every ten minutes; a reboot that is asked for needs its BMC now.
	r.Expect(r.patch(&infrav1.RepaveHost{}, server.Name, `{"spec":{"operations":{"rebootCounter":1}}}`)).To(Succeed())
	r.hostSays(server.Name, infrav1.ConditionBMCReachable, infrav1.ReasonCertificateChanged)
	r.Expect(server.BMC.Sessions()).To(BeZero(), "nobody logged in to the stranger")
	r.Expect(r.host(r, server.Name).Status.BMC.CertificateFingerprint).To(Equal(pinned))
	r.untouched(server)

	r.Expect(r.patch(&infrav1.RepaveHost{}, server.Name, `{"metadata":{"annotations":{"`+infrav1.AnnotationRepinBMC+`":"true"}}}`)).To(Succeed())
	r.eventually("the reboot is acknowledged", func(g Gomega) {
		host := r.host(g, server.Name)
		g.Expect(host.Status.Operations.RebootCounter).To(BeEquivalentTo(1))
		g.Expect(host.Status.BMC.CertificateFingerprint).To(Equal(server.BMC.Fingerprint()))
		g.Expect(host.Annotations).NotTo(HaveKey(infrav1.AnnotationRepinBMC), "it asks once")
	})
	r.hostSays(server.Name, infrav1.ConditionBMCReachable, infrav1.ReasonReachable)
	offs, ons := power(server)
	r.Expect([]int{offs, ons}).To(Equal([]int{0, 1}), "it was off: a reboot switches it on, once")
}

func (r *rack) secretOf(s *sim.Server) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: s.Name + "-bmc"}}
}
