// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const controllerOwner = "repave"

// apply applies a part of a host's status as one of its writers.
func (p *person) apply(host *infrav1.RepaveHost, owner, status string) error {
	p.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"status": fields(p.t, status)}}
	o.SetGroupVersionKind(infrav1.GroupVersion.WithKind("RepaveHost"))
	o.SetNamespace(host.Namespace)
	o.SetName(host.Name)
	return p.client.Status().Apply(p.t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(owner))
}

func (p *person) look(host *infrav1.RepaveHost) *infrav1.RepaveHost {
	p.t.Helper()
	p.Expect(p.client.Get(p.t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
	return host
}

// patch is the Host controller: a merge patch of what it changed, without its having read the others' parts anew.
func (p *person) patch(host *infrav1.RepaveHost, change func(*infrav1.RepaveHostStatus)) {
	p.t.Helper()
	before := host.DeepCopy()
	change(&host.Status)
	p.Expect(p.client.Status().Patch(p.t.Context(), host, client.MergeFrom(before), client.FieldOwner(controllerOwner))).To(Succeed())
}

func (p *person) newHost() *infrav1.RepaveHost {
	p.t.Helper()
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{GenerateName: "r-", Namespace: p.namespace}}
	p.Expect(p.client.Create(p.t.Context(), host)).To(Succeed())
	return host
}

func connected(status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: infrav1.ConditionAgentConnected, Status: status, Reason: infrav1.ReasonConnected, LastTransitionTime: metav1.Now()}
}

// TestThreeWritersOfOneStatus: the agent, the netboot server and the controller each change their own part, in every order,
// and none takes anything from another.
func TestThreeWritersOfOneStatus(t *testing.T) {
	p := newPerson(t)
	host := p.newHost()
	stale := host.DeepCopy() // the controller's cache, which lags behind

	p.Expect(p.apply(host, infrav1.AgentFieldOwner, "agent: {version: v1, bootID: b1, activity: Staging, staged: {digest: d1}}")).To(Succeed())
	p.Expect(p.apply(host, infrav1.NetbootFieldOwner, "netboot: {image: {digest: d1, state: Pulling}, bootedOrder: o1}")).To(Succeed())
	p.patch(stale, func(s *infrav1.RepaveHostStatus) {
		s.Phase, s.Power = infrav1.PhaseReady, infrav1.PowerOn
		meta.SetStatusCondition(&s.Conditions, connected(metav1.ConditionTrue))
	})
	status := p.look(host).Status
	p.Expect(status.Agent.Staged.Digest).To(Equal("d1"), "the controller did not know of it and did not remove it")
	p.Expect(status.Netboot.BootedOrder).To(Equal("o1"))
	p.Expect(status.Phase).To(Equal(infrav1.PhaseReady))

	p.Expect(p.apply(host, infrav1.AgentFieldOwner, "agent: {version: v1, bootID: b2, activity: Idle, booted: {digest: d1}}")).To(Succeed())
	status = p.look(host).Status
	p.Expect(status.Agent.Staged).To(BeNil(), "what an agent no longer applies is gone")
	p.Expect(status.Agent.BootID).To(Equal("b2"))
	p.Expect(status.Netboot.Image.State).To(Equal(infrav1.ImagePulling))
	p.Expect(status.Conditions).To(HaveLen(1))

	p.Expect(p.apply(host, infrav1.NetbootFieldOwner, "netboot: {image: {digest: d1, state: Ready}}")).To(Succeed())
	status = p.look(host).Status
	p.Expect(status.Netboot.BootedOrder).To(BeEmpty())
	p.Expect(status.Agent.BootID).To(Equal("b2"))
	p.Expect(status.Power).To(Equal(infrav1.PowerOn))

	p.patch(host, func(s *infrav1.RepaveHostStatus) { s.Phase, s.Power = infrav1.PhaseRebooting, infrav1.PowerOff })
	status = p.look(host).Status
	p.Expect(status.Agent.Booted.Digest).To(Equal("d1"))
	p.Expect(status.Netboot.Image.State).To(Equal(infrav1.ImageReady))
}

// TestAnothersPartIsAConflict: without force, applying what another writer has set is refused and names the owner.
func TestAnothersPartIsAConflict(t *testing.T) {
	p := newPerson(t)
	host := p.newHost()
	p.patch(host, func(s *infrav1.RepaveHostStatus) { s.Phase = infrav1.PhaseReady })
	p.Expect(p.apply(host, infrav1.AgentFieldOwner, "agent: {bootID: b1}")).To(Succeed())
	err := p.apply(host, infrav1.AgentFieldOwner, "{agent: {bootID: b1}, phase: Failed}")
	p.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	p.Expect(err).To(MatchError(And(ContainSubstring(".status.phase"), ContainSubstring(controllerOwner))))
	err = p.apply(host, infrav1.NetbootFieldOwner, "agent: {bootID: b2}")
	p.Expect(err).To(MatchError(And(ContainSubstring(".status.agent.bootID"), ContainSubstring(infrav1.AgentFieldOwner))))
}

// TestConditionsAreAMap: a condition is found by its type, whoever sets it, and there is one of each type.
func TestConditionsAreAMap(t *testing.T) {
	p := newPerson(t)
	host := p.newHost()
	const at = `lastTransitionTime: "2026-05-04T12:00:00Z"`
	p.Expect(p.apply(host, "one", `conditions: [{type: Ready, status: "True", reason: A, message: "", `+at+`}]`)).To(Succeed())
	p.Expect(p.apply(host, "two", `conditions: [{type: Idle, status: "True", reason: B, message: "", `+at+`}]`)).To(Succeed())
	p.Expect(p.look(host).Status.Conditions).To(HaveLen(2))
	p.Expect(p.apply(host, "one", "conditions: []")).To(Succeed())
	p.Expect(p.look(host).Status.Conditions).To(HaveLen(1), "the one of the other is left")
	p.Expect(host.Status.Conditions[0].Type).To(Equal("Idle"))

	host.Status.Conditions = append(host.Status.Conditions, host.Status.Conditions[0])
	err := p.client.Status().Update(t.Context(), host)
	p.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	p.Expect(err).To(MatchError(ContainSubstring("Duplicate value")))
}

// TestStatusIsASubresource: a writer of spec cannot write status with it, nor the other way round.
func TestStatusIsASubresource(t *testing.T) {
	p := newPerson(t)
	host := p.newHost()
	host.Spec.Operations.RebootCounter, host.Status.Phase = 3, infrav1.PhaseReady
	p.Expect(p.client.Update(t.Context(), host)).To(Succeed())
	p.Expect(p.look(host).Status.Phase).To(BeEmpty())
	host.Spec.Operations.RebootCounter, host.Status.Phase = 4, infrav1.PhaseReady
	p.Expect(p.client.Status().Update(t.Context(), host)).To(Succeed())
	p.Expect(p.look(host).Spec.Operations.RebootCounter).To(BeEquivalentTo(3))
	p.Expect(host.Generation).To(BeEquivalentTo(2), "status does not count as a change of what is wanted")
}
