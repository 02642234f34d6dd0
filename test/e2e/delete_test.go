// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// A machine is deleted while its host is being installed. The host ends switched off and free, and the order is worth nothing any
// more: a server that comes with it later gets no plan.
func TestTheOrderOfAMachineThatIsDeletedIsWorthNothing(t *testing.T) {
	t.Parallel()
	r := ready(t, "undo", 1)
	server := r.fleet.Servers[0]
	v1 := r.publish("v1", small)
	server.Box.SetFaults(sim.Faults{Dead: true}) // it takes power, and never comes for its order
	r.pool("undo", 1, v1)
	var op *infrav1.Operation
	var urls order.URLs
	r.eventually("the host is expected to take its order", func(g Gomega) {
		op = r.host(g, server.Name).Status.Operation
		g.Expect(op).NotTo(BeNil())
		g.Expect(op.Step).To(Equal(infrav1.StepInstalling))
	})
	var secret corev1.Secret
	r.Expect(stage.client.Get(r.ctx, client.ObjectKey{Namespace: "repave-system", Name: "repave-order-key"}, &secret)).To(Succeed())
	key, err := order.ParseKey(secret.Data["key"])
	r.Expect(err).NotTo(HaveOccurred())
	urls = order.URLs{Base: stage.repave.NetbootURL, Key: key}
	uid, id := string(r.host(r, server.Name).UID), lifecycle.OrderID(*op)
	boot, plan := urls.BootURL(r.namespace, server.Name, uid, id), urls.PlanURL(r.namespace, server.Name, uid, id)
	_, script := r.answer(http.MethodGet, boot)
	r.Expect(script).To(ContainSubstring(orderv1.PlanParameter), "until then the order is good")

	r.scale("undo-pool", 0)
	r.eventually("the host is free", func(g Gomega) {
		g.Expect(r.host(g, server.Name).Spec.ClaimRef).To(BeNil())
		g.Expect(r.machines(g, "undo-pool")).To(BeEmpty())
	})
	r.hostSays(server.Name, infrav1.ConditionReady, infrav1.ReasonAvailable)
	r.Expect(server.Box.Power()).To(Equal(virtual.PowerOff))
	status, body := r.answer(http.MethodPost, plan)
	r.Expect(status/100).To(Equal(4), body)
	_, script = r.answer(http.MethodGet, boot)
	r.Expect(script).NotTo(ContainSubstring(orderv1.PlanParameter))
	r.Expect(server.Box.Count("Installed")).To(BeZero())
	r.Expect(r.host(r, server.Name).Status.History).To(ConsistOf(HaveField("Outcome", infrav1.OutcomeCancelled)))

	server.Box.SetFaults(sim.Faults{})
	r.scale("undo-pool", 1)
	r.runs("undo-pool", 1, v1)
	r.Expect(server.Box.Count("Installed")).To(Equal(1))
}

// A host is deleted in the midst of a reboot. What was begun is brought to its end; then the host stays for as long as it serves,
// says so, and goes when its machine has gone.
func TestADeletedHostStaysUntilItsMachineHasGone(t *testing.T) {
	t.Parallel()
	r := ready(t, "gone", 1)
	server := r.fleet.Servers[0]
	v1 := r.publish("v1", small)
	r.pool("gone", 1, v1)
	r.runs("gone-pool", 1, v1)
	server.Box.SetFaults(sim.Faults{Dead: true})
	r.Expect(r.patch(&infrav1.RepaveHost{}, server.Name, `{"spec":{"operations":{"rebootCounter":1}}}`)).To(Succeed())
	r.eventually("the reboot waits for its proof", func(g Gomega) {
		op := r.host(g, server.Name).Status.Operation
		g.Expect(op).NotTo(BeNil())
		g.Expect(op.Step).To(Equal(infrav1.StepProving))
	})

	r.Expect(stage.client.Delete(r.ctx, r.host(r, server.Name))).To(Succeed())
	c := r.hostSays(server.Name, infrav1.ConditionReady, infrav1.ReasonStillClaimed)
	r.Expect(c.Message).To(ContainSubstring(r.machines(r, "gone-pool")[0].Name), "what to delete first")
	server.Box.SetFaults(sim.Faults{})
	cutPower(server)
	r.eventually("the reboot is acknowledged", func(g Gomega) {
		host := r.host(g, server.Name)
		g.Expect(host.Status.Operation).To(BeNil())
		g.Expect(host.Status.Operations.RebootCounter).To(BeEquivalentTo(1))
	})
	offs, ons := power(server)
	r.Expect([]int{offs, ons}).To(Equal([]int{1, 2}))

	r.scale("gone-pool", 0)
	r.eventually("the host is gone", func(g Gomega) {
		err := stage.client.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: server.Name}, &infrav1.RepaveHost{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	})
	r.Expect(server.Box.Power()).To(Equal(virtual.PowerOff))
	r.Expect(server.Box.Count("Installed")).To(Equal(1))
}

// answer is what a booting server gets.
func (r *rack) answer(method, url string) (status int, body string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.ctx, method, url, http.NoBody)
	r.Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	r.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}
