// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/repave-io/cluster-api-provider-repave/agent/identity"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// Somebody takes the certificate of an agent off the disk of its server. It opens that agent's part of its own host's status, and
// nothing else.
func TestACertificateOfAnAgentOpensItsOwnPartOnly(t *testing.T) {
	t.Parallel()
	r := ready(t, "identity", 2)
	v1 := r.publish("v1", small)
	r.pool("identity", 1, v1)
	r.runs("identity-pool", 1, v1)
	own, other := r.fleet.Servers[0], r.fleet.Servers[1]
	if r.host(r, other.Name).Spec.ClaimRef != nil {
		own, other = other, own
	}
	thief := r.certificateOf(own)
	object := func(name string) *infrav1.RepaveHost {
		return &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
	}
	r.Expect(thief.Get(r.ctx, client.ObjectKeyFromObject(object(own.Name)), &infrav1.RepaveHost{})).To(Succeed())
	before := r.host(r, own.Name)

	patch := func(name, change string, subresource ...string) error {
		raw := client.RawPatch(types.MergePatchType, []byte(change))
		if len(subresource) > 0 {
			return thief.SubResource(subresource[0]).Patch(r.ctx, object(name), raw)
		}
		return thief.Patch(r.ctx, object(name), raw)
	}
	for what, err := range map[string]error{
		"read another host":            thief.Get(r.ctx, client.ObjectKeyFromObject(object(other.Name)), &infrav1.RepaveHost{}),
		"list all hosts":               thief.List(r.ctx, &infrav1.RepaveHostList{}, client.InNamespace(r.namespace)),
		"report for another host":      patch(other.Name, `{"status":{"agent":{"bootID":"x"}}}`, "status"),
		"open an operation":            patch(own.Name, `{"status":{"operation":{"id":"x","kind":"Repave","method":"Netboot","step":"Preparing","attempt":1,"startedAt":"2026-01-01T00:00:00Z","stepAt":"2026-01-01T00:00:00Z","deadline":"2026-01-01T00:00:00Z"}}}`, "status"),
		"acknowledge a counter":        patch(own.Name, `{"status":{"operations":{"repaveCounter":9}}}`, "status"),
		"speak for the netboot server": patch(own.Name, `{"status":{"netboot":{"redeemedOrder":"x"}}}`, "status"),
		"ask for a repave":             patch(own.Name, `{"spec":{"operations":{"repaveCounter":9}}}`),
		"change its record":            patch(own.Name, `{"metadata":{"annotations":{"`+infrav1.AnnotationRecord+`":null}}}`),
		"read the BMC's password":      thief.Get(r.ctx, client.ObjectKeyFromObject(r.secretOf(own)), &corev1.Secret{}),
		"list Secrets":                 thief.List(r.ctx, &corev1.SecretList{}, client.InNamespace(r.namespace)),
		"delete its host":              thief.Delete(r.ctx, object(own.Name)),
	} {
		r.Expect(apierrors.IsForbidden(err) || apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", what, err)
	}
	after := r.host(r, own.Name)
	r.Expect(after.Spec).To(Equal(before.Spec))
	r.Expect(after.Annotations).To(Equal(before.Annotations))
	r.Expect(after.Status.Operation).To(BeNil())
	r.Expect(after.Status.Operations).To(BeZero())
	r.untouched(other)
}

// certificateOf is a client with what lies on the disk of a server.
func (r *rack) certificateOf(s *sim.Server) client.Client {
	r.t.Helper()
	pair, err := os.ReadFile(filepath.Join(r.disks, s.Name, s.DiskSerial, "root", identity.CertificatePath))
	r.Expect(err).NotTo(HaveOccurred())
	config := rest.AnonymousClientConfig(r.controlPlane.RESTConfig())
	config.CertData, config.KeyData = pair, pair
	thief, err := client.New(config, client.Options{Scheme: stage.client.Scheme()})
	r.Expect(err).NotTo(HaveOccurred())
	return thief
}
