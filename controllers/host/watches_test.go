// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

// TestWokenByWhatMatters: a manager runs the controller, and a host follows its BMC's readings, its agent's Lease and the
// pause of its Cluster.
func TestWokenByWhatMatters(t *testing.T) {
	b := &box{power: redfish.Off, now: time.Now}
	bmcs := newActors(b)
	woken := make(chan event.GenericEvent)
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	r := &Reconciler{BMCs: bmcs, Orders: orders{}, Woken: woken, WatchFilterValue: "live"}
	g.Expect(r.SetupWithManager(mgr, controller.Options{})).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-stopped).To(Succeed())
	})

	w := newWorld(t, func(h *infrav1.RepaveHost) { h.Labels = map[string]string{clusterv1.WatchLabel: "live"} })
	reason := func(kind string) func() string {
		return func() string { return w.condition(kind).Reason }
	}
	soon := func(kind, wanted string) {
		t.Helper()
		w.Eventually(reason(kind)).WithTimeout(20 * time.Second).Should(Equal(wanted))
	}
	soon(infrav1.ConditionReady, infrav1.ReasonAvailable)

	b.obey(redfish.Command{Verb: redfish.PowerOn})
	bmcs.Ask(w.key.String(), redfish.Command{Verb: redfish.Refresh})
	woken <- event.GenericEvent{Object: w.host()}
	w.Eventually(func() infrav1.PowerState { return w.host().Status.Power }).WithTimeout(20 * time.Second).Should(Equal(infrav1.PowerOn))

	w.editStatus(func(s *infrav1.RepaveHostStatus) { s.Agent = &infrav1.AgentStatus{BootID: "b1", NodeName: "n1"} })
	soon(infrav1.ConditionAgentConnected, infrav1.ReasonLeaseExpired)
	lease := &coordinationv1.Lease{}
	w.Expect(direct.Get(t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: infrav1.LeaseName(w.key.Name)}, lease)).To(Succeed())
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	w.Expect(direct.Update(t.Context(), lease)).To(Succeed())
	soon(infrav1.ConditionAgentConnected, infrav1.ReasonConnected)

	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "c1"}}
	cluster.Spec.Paused = ptr.To(false)
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "RepaveCluster", Name: "c1"}
	w.Expect(direct.Create(t.Context(), cluster)).To(Succeed())
	machine := &infrav1.RepaveMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.key.Namespace, Name: "m1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}, Annotations: map[string]string{infrav1.AnnotationHost: w.key.Name},
	}}
	machine.Spec.Image = &infrav1.Image{Ref: "r.example/os@" + digest}
	w.Expect(direct.Create(t.Context(), machine)).To(Succeed())
	w.edit(func(h *infrav1.RepaveHost) {
		h.Spec.ClaimRef = &infrav1.HostClaim{Name: "m1", UID: "u1"}
		h.Spec.Desired = &infrav1.HostDesired{ProviderID: "repave://ns/h1/m1"}
	})
	soon(infrav1.ConditionReady, infrav1.ReasonServing)
	before := cluster.DeepCopy()
	cluster.Spec.Paused = ptr.To(true)
	w.Expect(direct.Patch(t.Context(), cluster, client.MergeFrom(before))).To(Succeed())
	soon(infrav1.ConditionPaused, infrav1.ReasonPaused)
}

func TestRenewalsWakeNobody(t *testing.T) {
	g := NewWithT(t)
	r := &Reconciler{}
	r.complete()
	now := time.Now()
	at := func(ago time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now.Add(-ago)}}}
	}
	wakes := func(before, after *coordinationv1.Lease) bool {
		return r.revived().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	g.Expect(wakes(at(10*time.Second), at(0))).To(BeFalse(), "a renewal in time")
	g.Expect(wakes(at(time.Hour), at(0))).To(BeTrue(), "the agent is back")
	g.Expect(wakes(&coordinationv1.Lease{}, at(0))).To(BeTrue(), "the first renewal")
}
