// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// draining is the finalizer by which the played Cluster API holds a Machine, as the real one does.
const draining = "test.repave.io/draining"

// adopt plays Cluster API: each member gets a Machine of its name.
func (s *story) adopt() {
	for _, m := range s.members() {
		machine := &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.namespace, Name: m.Name, Finalizers: []string{draining},
				Labels: map[string]string{
					clusterv1.ClusterNameLabel:     m.Labels[clusterv1.ClusterNameLabel],
					clusterv1.MachinePoolNameLabel: m.Labels[clusterv1.MachinePoolNameLabel],
				},
			},
			Spec: clusterv1.MachineSpec{
				ClusterName: "c1", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("")},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupVersion.Group, Kind: infrav1.PoolMachineKind, Name: m.Name,
				},
			},
		}
		s.Expect(client.IgnoreAlreadyExists(live.Create(s.ctx, machine))).To(Succeed())
	}
}

// bury plays Cluster API: the members of Machines that are being deleted go, then the Machines.
func (s *story) bury() {
	for _, machine := range s.machines() {
		if machine.DeletionTimestamp.IsZero() {
			continue
		}
		member := &infrav1.RepaveMachine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: machine.Name}}
		s.Expect(client.IgnoreNotFound(live.Delete(s.ctx, member))).To(Succeed())
		machine.Finalizers = nil
		s.Expect(live.Update(s.ctx, &machine)).To(Succeed())
	}
}

func (s *story) machines() []clusterv1.Machine {
	list := &clusterv1.MachineList{}
	s.Expect(live.List(s.ctx, list, client.InNamespace(s.namespace))).To(Succeed())
	return list.Items
}

// change alters one member's spec and status.
func (s *story) change(name string, alter func(*infrav1.RepaveMachine)) {
	m := &infrav1.RepaveMachine{}
	s.Expect(live.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, m)).To(Succeed())
	alter(m)
	status := m.Status
	s.Expect(live.Update(s.ctx, m)).To(Succeed())
	m.Status = status
	s.Expect(live.Status().Update(s.ctx, m)).To(Succeed())
}

// serve plays the Machine controller: the member runs a digest, proven, and serves.
func serve(letter string) func(*infrav1.RepaveMachine) {
	return func(m *infrav1.RepaveMachine) {
		m.Spec.ProviderID = fmt.Sprintf("repave://%s/host-of-%s/%s", m.Namespace, m.Name, m.Name)
		m.Status.Initialization.Provisioned = ptr.To(true)
		m.Status.Available = true
		m.Status.HostRef = &infrav1.HostReference{Name: "host-of-" + m.Name}
		m.Status.Image.Booted = &infrav1.HostImage{Digest: digest(letter)}
		step(letter, infrav1.UpdateUpToDate)(m)
	}
}

// step plays the Machine controller: the member is on its way to a digest.
func step(letter string, at infrav1.UpdateStep) func(*infrav1.RepaveMachine) {
	return func(m *infrav1.RepaveMachine) {
		m.Status.Update = &infrav1.MachineUpdate{Digest: digest(letter), Step: at, StepAt: metav1.Unix(1, 0)}
		switch at {
		case infrav1.UpdateDraining, infrav1.UpdateBooting, infrav1.UpdateVerifying:
			m.Status.Available = false
		}
	}
}

// all alters every member.
func (s *story) all(alter func(*infrav1.RepaveMachine)) {
	for _, m := range s.members() {
		s.change(m.Name, alter)
	}
}

// slots are the members that hold a slot.
func (s *story) slots() []string {
	var names []string
	for _, m := range s.members() {
		if m.Spec.Slot != nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// running brings the pool up to where all members serve on digest a.
func (s *story) running() {
	s.settled()
	s.adopt()
	s.all(serve("a"))
	s.settled()
	s.Expect(s.pool.Status.Ready).To(BeTrue())
	s.recorder.take()
}

// wants gives the template another image.
func (s *story) wants(letter string) {
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.pool), s.pool)).To(Succeed())
	s.pool.Spec.Template.Spec.Image = image(letter)
	s.Expect(live.Update(s.ctx, s.pool)).To(Succeed())
}

// scales gives the MachinePool another number.
func (s *story) scales(replicas int32) {
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.owner), s.owner)).To(Succeed())
	s.owner.Spec.Replicas = &replicas
	s.Expect(live.Update(s.ctx, s.owner)).To(Succeed())
}

// condition gives status, reason and message of a condition of the pool.
func (s *story) condition(kind string) string {
	for _, c := range s.pool.Status.Conditions {
		if c.Type == kind {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}
