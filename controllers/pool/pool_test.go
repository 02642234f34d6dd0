// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestMembersAreMadeForClusterAPI(t *testing.T) {
	s := tell(t, 2, func(owner *clusterv1.MachinePool, _ *infrav1.RepaveMachinePool) {
		owner.Name = strings.Repeat("workers-", 7) + "workers-long"
	})
	s.spy.before = func(verb string, o client.Object) {
		if _, member := o.(*infrav1.RepaveMachine); !member || verb != "create" {
			return
		}
		pool := &infrav1.RepaveMachinePool{}
		s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.pool), pool)).To(Succeed())
		s.Expect(pool.Status.InfrastructureMachineKind).To(Equal("RepaveMachine"), "must be known before the first machine")
		s.Expect(pool.Finalizers).To(ContainElement(infrav1.PoolFinalizer))
	}
	s.settled()

	members := s.members()
	s.Expect(members).To(HaveLen(2))
	for _, m := range members {
		s.Expect(m.Name).To(MatchRegexp("^p1-[a-z0-9]{5}$"))
		s.Expect(m.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c1"))
		s.Expect(m.Labels[clusterv1.MachinePoolNameLabel]).To(HavePrefix("hash_"), "a long name is hashed, as Cluster API does")
		s.Expect(m.Labels).To(HaveKeyWithValue("tier", "gold"))
		s.Expect(m.Spec.Image).To(Equal(image("a")))
		s.Expect(m.OwnerReferences).To(Equal([]metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(), Kind: "RepaveMachinePool", Name: "p1", UID: s.pool.UID,
		}}), "not a controller: that will be the Machine")
	}
	s.Expect(s.recorder.take()).To(ConsistOf("RolloutStarted", "MachineCreated", "MachineCreated"))
	s.Expect(s.pool.Status.Ready).To(BeFalse())
	s.Expect(s.condition("Ready")).To(Equal("False NotAllReady: 0/2 ready"))
	s.Expect(s.condition("UpToDate")).To(HavePrefix("False RolloutInProgress: 0/2 updated; 2 joining (p1-"))
}

func TestProvisionedPoolIsReportedAndRests(t *testing.T) {
	s := tell(t, 3)
	s.running()

	s.Expect(s.pool.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	s.Expect(s.pool.Spec.ProviderIDList).To(HaveLen(3))
	s.Expect(s.pool.Spec.ProviderIDList).To(HaveEach(HavePrefix("repave://" + s.namespace)))
	for i, id := range s.pool.Spec.ProviderIDList[1:] {
		s.Expect(id > s.pool.Spec.ProviderIDList[i]).To(BeTrue(), "sorted")
	}
	status := s.pool.Status
	for _, n := range []*int32{status.Replicas, status.ReadyReplicas, status.UpToDateReplicas} {
		s.Expect(n).To(HaveValue(BeEquivalentTo(3)))
	}
	s.Expect(status.UnavailableReplicas).To(HaveValue(BeZero()))
	s.Expect(status.TargetDigest).To(Equal(digest("a")))
	s.Expect(status.DeployedDigest).To(Equal(digest("a")))
	s.Expect(s.condition("Ready")).To(Equal("True AllReady: 3/3 ready"))
	s.Expect(s.condition("UpToDate")).To(Equal("True AllUpdated: 3/3 updated"))
	s.Expect(s.condition("Degraded")).To(Equal("False Healthy: "))
	s.Expect(s.condition("Paused")).To(HavePrefix("False NotPaused"))

	s.spy.writes = 0
	s.reconcile(10)
	s.Expect(s.spy.writes).To(BeZero(), "a converged pool writes nothing")

	s.change(s.members()[0].Name, func(m *infrav1.RepaveMachine) { m.Status.Available = false })
	s.settled()
	s.Expect(s.pool.Status.Ready).To(BeTrue(), "provisioned never flips back")
	s.Expect(s.condition("Ready")).To(Equal("False NotAllReady: 2/3 ready"))
	s.Expect(s.condition("Degraded")).To(Equal("True HostDegraded: 1 machines are down or failed the image"))
}

func TestPoolWithoutOwnerIsLeftAlone(t *testing.T) {
	s := tell(t, 2)
	orphan := &infrav1.RepaveMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "orphan"}, Spec: s.pool.Spec}
	s.Expect(live.Create(s.ctx, orphan)).To(Succeed())
	s.pool = orphan
	s.settled()
	s.Expect(s.members()).To(BeEmpty())
	s.Expect(s.pool.Finalizers).To(BeEmpty())
}

// TestPoolOfAnotherManagerIsLeftAlone: members, Machines and MachinePools wake pools without a look at the filter.
func TestPoolOfAnotherManagerIsLeftAlone(t *testing.T) {
	s := tell(t, 2)
	s.reconciler.WatchFilterValue = "ours"
	s.settled()
	s.Expect(s.members()).To(BeEmpty())
	s.Expect(s.pool.Finalizers).To(BeEmpty())
}

// TestMovedPoolIsLeftAlone: clusterctl move deletes the source's objects when the target's serve already.
func TestMovedPoolIsLeftAlone(t *testing.T) {
	s := tell(t, 1)
	s.running()
	s.pool.Annotations = map[string]string{infrav1.AnnotationDeleteForMove: ""}
	s.Expect(live.Update(s.ctx, s.pool)).To(Succeed())
	s.scales(3)
	s.settled()
	s.Expect(s.members()).To(HaveLen(1))
}

func TestPausedClusterIsLeftAlone(t *testing.T) {
	s := tell(t, 1)
	s.running()
	cluster := &clusterv1.Cluster{}
	s.Expect(live.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: "c1"}, cluster)).To(Succeed())
	cluster.Spec.Paused = ptr.To(true)
	s.Expect(live.Update(s.ctx, cluster)).To(Succeed())
	s.scales(3)
	s.wants("b")
	s.settled()
	s.Expect(s.members()).To(HaveLen(1))
	s.Expect(s.members()[0].Spec.Image).To(Equal(image("a")))
	s.Expect(s.condition("Paused")).To(HavePrefix("True Paused"))
}

func TestTooFewHosts(t *testing.T) {
	s := tell(t, 2)
	s.running()
	name := s.members()[0].Name
	s.change(name, func(m *infrav1.RepaveMachine) {
		m.Status.Available = false
		m.Status.Conditions = []metav1.Condition{{
			Type: infrav1.ConditionHostClaimed, Status: metav1.ConditionFalse, Reason: infrav1.ReasonNoHostAvailable, LastTransitionTime: metav1.Now(),
		}}
	})
	s.settled()
	s.Expect(s.condition("Degraded")).To(Equal("True HostConflict: 1 machines wait for a host that is free and matches: " + name))
}

func TestDoorRefusesWhatCouldNeverWork(t *testing.T) {
	s := tell(t, 1)
	for name, test := range map[string]struct {
		change func(*infrav1.RepaveMachinePoolSpec)
		want   string
	}{
		"nothing may be unavailable": {func(p *infrav1.RepaveMachinePoolSpec) { p.Rollout.MaxUnavailable = ptr.To(intstr.FromInt32(0)) }, "maxUnavailable must be"},
		"0%":                         {func(p *infrav1.RepaveMachinePoolSpec) { p.Rollout.MaxUnavailable = ptr.To(intstr.FromString("0%")) }, "maxUnavailable must be"},
		"more than all":              {func(p *infrav1.RepaveMachinePoolSpec) { p.Rollout.MaxUnavailable = ptr.To(intstr.FromString("101%")) }, "maxUnavailable must be"},
		"no percentage":              {func(p *infrav1.RepaveMachinePoolSpec) { p.Rollout.MaxFailed = ptr.To(intstr.FromString("many")) }, "maxFailed must be"},
		"a slot for all":             {func(p *infrav1.RepaveMachinePoolSpec) { p.Template.Spec.Slot = &infrav1.MachineSlot{Digest: "x"} }, "written by the controllers"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &infrav1.RepaveMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "bad"}}
			s.pool.Spec.DeepCopyInto(&pool.Spec)
			test.change(&pool.Spec)
			NewWithT(t).Expect(live.Create(s.ctx, pool)).To(MatchError(ContainSubstring(test.want)))
		})
	}
}
