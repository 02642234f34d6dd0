// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestStaleCacheMakesNoMachineTooMany(t *testing.T) {
	s := tell(t, 3)
	s.spy.stale = true
	s.reconcile(10)
	s.Expect(s.members()).To(HaveLen(3))
}

func TestScaling(t *testing.T) {
	s := tell(t, 3)
	s.running()
	last := s.members()[2].Name
	s.change(last, func(m *infrav1.RepaveMachine) {
		m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: ""}
	})
	s.scales(2)
	s.settled()
	s.Expect(s.members()).To(HaveLen(3), "only the Machine is deleted, the rest is Cluster API's to do")
	for _, machine := range s.machines() {
		s.Expect(!machine.DeletionTimestamp.IsZero()).To(Equal(machine.Name == last))
	}
	s.Expect(s.pool.Spec.ProviderIDList).To(HaveLen(3), "its Node is still there")
	s.Expect(s.condition("Ready")).To(Equal("False Scaling: 2/2 ready; 3 of 2 machines exist"))
	s.bury()
	s.settled()
	s.Expect(s.members()).To(HaveLen(2))
	s.Expect(s.pool.Spec.ProviderIDList).To(HaveLen(2))
	s.Expect(s.recorder.take()).To(Equal([]string{"MachineDeleted"}))

	s.scales(3)
	s.settled()
	s.Expect(s.members()).To(HaveLen(3))
	s.scales(2)
	s.settled()
	s.Expect(s.members()).To(HaveLen(3), "the new one goes first, but has no Machine yet to delete")
	s.adopt()
	s.settled()
	s.bury()
	s.settled()
	s.Expect(s.members()).To(HaveLen(2))
	s.Expect(s.condition("Ready")).To(Equal("True AllReady: 2/2 ready"))
}

func TestReplicasOfSomebodyElse(t *testing.T) {
	s := tell(t, 2)
	s.running()
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.owner), s.owner)).To(Succeed())
	s.owner.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "autoscaler"}
	s.Expect(live.Update(s.ctx, s.owner)).To(Succeed())
	s.scales(5)
	s.settled()
	s.Expect(s.members()).To(HaveLen(2))
}

func TestLostMemberIsReplaced(t *testing.T) {
	s := tell(t, 2)
	s.running()
	lost := s.members()[0]
	s.Expect(live.Delete(s.ctx, &lost)).To(Succeed())
	s.settled()
	s.Expect(s.members()).To(HaveLen(2))
	machine := &clusterv1.Machine{}
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(&lost), machine)).To(Succeed())
	s.Expect(machine.DeletionTimestamp.IsZero()).To(BeFalse(), "the Machine without a member goes")
}

func TestDeletion(t *testing.T) {
	s := tell(t, 2)
	s.running()
	s.scales(3)
	s.settled() // one that is not adopted yet
	s.recorder.take()
	s.Expect(live.Delete(s.ctx, s.pool)).To(Succeed())
	s.settled()
	s.Expect(s.members()).To(HaveLen(3), "the third may still be adopted: the MachinePool is not being deleted")
	for _, machine := range s.machines() {
		s.Expect(machine.DeletionTimestamp.IsZero()).To(BeFalse())
	}
	s.Expect(s.condition("Ready")).To(HavePrefix("False Deleting: 3 machines left: p1-"))

	s.Expect(live.Delete(s.ctx, s.owner)).To(Succeed())
	s.settled()
	s.Expect(s.members()).To(HaveLen(2), "now it never will be")
	s.bury()
	s.settled()
	s.Expect(s.members()).To(BeEmpty())
	s.Expect(apierrors.IsNotFound(live.Get(s.ctx, client.ObjectKeyFromObject(s.pool), s.pool))).To(BeTrue())
	s.Expect(s.recorder.take()).To(Equal([]string{"MachineDeleted", "MachineDeleted"}))
}
