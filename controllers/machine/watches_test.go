// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestMachinePoolsWakeByTheirData: Cluster API writes a MachinePool with every change of any member; if each woke all members, the
// work of a rollout would grow with the square of them.
func TestMachinePoolsWakeByTheirData(t *testing.T) {
	g := NewWithT(t)
	before, after := &clusterv1.MachinePool{}, &clusterv1.MachinePool{}
	after.Status.Replicas = ptr.To[int32](3)
	g.Expect(dataChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeFalse())
	after.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("data")
	g.Expect(dataChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeTrue())
	g.Expect(dataChanged().Create(event.CreateEvent{Object: after})).To(BeTrue())
}
