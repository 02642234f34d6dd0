// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestRolloutKeepsItsBudget(t *testing.T) {
	s := tell(t, 4, func(_ *clusterv1.MachinePool, pool *infrav1.RepaveMachinePool) {
		pool.Spec.Rollout.MaxUnavailable = ptr.To(intstr.FromString("30%")) // of 4: one
	})
	s.running()
	s.wants("b")
	s.settled()
	for _, m := range s.members() {
		s.Expect(m.Spec.Image).To(Equal(image("b")), "all get the image at once")
		s.Expect(m.Spec.ProviderID).NotTo(BeEmpty(), "the rest of the spec stays")
	}
	s.Expect(s.slots()).To(BeEmpty(), "nobody has staged it yet")
	s.Expect(s.condition("UpToDate")).To(Equal("False RolloutInProgress: 0/4 updated; 4 waiting to stage"))
	s.Expect(s.pool.Status.DeployedDigest).To(Equal(digest("a")))

	s.all(step("b", infrav1.UpdateStaged))
	var served []string
	for range 4 {
		s.settled()
		slots := s.slots()
		s.Expect(slots).To(HaveLen(1), "one at a time")
		s.change(slots[0], step("b", infrav1.UpdateBooting))
		s.settled()
		s.Expect(s.slots()).To(Equal(slots))
		s.change(slots[0], serve("b"))
		served = append(served, slots[0])
	}
	s.settled()
	s.Expect(s.slots()).To(BeEmpty(), "all slots are taken back")
	s.Expect(served).To(HaveLen(4))
	s.Expect(s.condition("UpToDate")).To(Equal("True AllUpdated: 4/4 updated"))
	s.Expect(s.pool.Status.DeployedDigest).To(Equal(digest("b")))
	s.Expect(s.recorder.take()).To(Equal([]string{"RolloutStarted", "RolloutFinished"}))
}

func TestRolloutHaltsAndStartsAfresh(t *testing.T) {
	s := tell(t, 3)
	s.running()
	s.wants("b")
	s.settled()
	s.all(step("b", infrav1.UpdateStaged))
	s.settled()
	bad := s.slots()[0]
	s.change(bad, step("b", infrav1.UpdateRolledBack))
	s.settled()
	s.Expect(s.slots()).To(BeEmpty(), "no new slots, and the failed one's is taken back")
	s.Expect(s.condition("UpToDate")).To(Equal("False Halted: 0/3 updated; 2 staged, 1 rolled back (host-of-" + bad + "); " +
		"halted: 1 failed, maxFailed is 1: change the image or delete the failed machines"))
	s.Expect(s.condition("Degraded")).To(HavePrefix("True HostDegraded"))
	s.Expect(s.recorder.take()).To(Equal([]string{"RolloutStarted", "RolloutHalted"}))

	s.wants("c")
	s.settled()
	s.all(step("c", infrav1.UpdateStaged))
	s.settled()
	s.Expect(s.slots()).To(HaveLen(1))
	s.Expect(s.condition("UpToDate")).To(HavePrefix("False RolloutInProgress: 0/3 updated; 3 staged; waiting: 2 for a slot (1/1 unavailable: "))
}

func TestPausedRolloutStagesOnly(t *testing.T) {
	s := tell(t, 2, func(_ *clusterv1.MachinePool, pool *infrav1.RepaveMachinePool) { pool.Spec.Rollout.Paused = true })
	s.running()
	s.wants("b")
	s.settled()
	s.all(step("b", infrav1.UpdateStaged))
	s.settled()
	s.Expect(s.slots()).To(BeEmpty())
	s.Expect(s.condition("UpToDate")).To(Equal("False Paused: 0/2 updated; 2 staged; paused: no new slots"))
}

// TestSlotIsForTheMemberThatWasSeen: a member that changed between the look and the write gets no slot from that look.
func TestSlotIsForTheMemberThatWasSeen(t *testing.T) {
	s := tell(t, 2)
	s.running()
	s.wants("b")
	s.settled()
	s.all(step("b", infrav1.UpdateStaged))
	meddled := false
	s.spy.before = func(_ string, o client.Object) {
		if m, member := o.(*infrav1.RepaveMachine); member && !meddled {
			meddled = true
			s.change(m.Name, step("b", infrav1.UpdateStaging))
		}
	}
	s.reconcile(1)
	s.Expect(meddled).To(BeTrue())
	s.Expect(s.slots()).To(BeEmpty())
	s.settled()
	s.Expect(s.slots()).To(HaveLen(1), "the other one")
}

func TestPausedMemberGetsNoSlot(t *testing.T) {
	s := tell(t, 2)
	s.running()
	s.wants("b")
	s.settled()
	paused := s.members()[0].Name
	s.change(paused, func(m *infrav1.RepaveMachine) { m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	s.all(step("b", infrav1.UpdateStaged))
	s.settled()
	s.Expect(s.slots()).To(HaveLen(1))
	s.Expect(s.slots()).NotTo(ContainElement(paused))
	s.Expect(s.condition("UpToDate")).To(ContainSubstring("1 paused (host-of-" + paused + ")"))
}

func TestNetbootImageWaitsForRepaves(t *testing.T) {
	netboot := func(letter string) infrav1.RepaveMachineSpec {
		return infrav1.RepaveMachineSpec{Netboot: &infrav1.Netboot{Image: *image(letter)}}
	}
	s := tell(t, 1, func(_ *clusterv1.MachinePool, pool *infrav1.RepaveMachinePool) {
		pool.Spec.Template.Spec = netboot("a")
	})
	s.running()
	s.pool.Spec.Template.Spec = netboot("b")
	s.Expect(live.Update(s.ctx, s.pool)).To(Succeed())
	s.settled()
	s.all(step("b", infrav1.UpdateStaging))
	s.settled()
	s.Expect(s.condition("UpToDate")).To(Equal("False RolloutInProgress: 0/1 updated; " +
		"1 waiting for a repave by counter (host-of-" + s.members()[0].Name + ")"))
}
