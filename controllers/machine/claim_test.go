// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestManyMachinesForFewHosts(t *testing.T) {
	w := newWorld(t, live)
	for i := range 8 {
		w.machine(fmt.Sprintf("m%d", i))
	}
	for i := range 5 {
		w.host(fmt.Sprintf("h%d", i))
	}
	served := func() (served, waiting int) {
		for i := range 8 {
			name := fmt.Sprintf("m%d", i)
			claims := w.claims(name)
			w.Expect(len(claims)).To(BeNumerically("<=", 1), "claims of "+name)
			switch {
			case len(claims) == 1 && w.why(name, infrav1.ConditionHostClaimed) == "True Claimed":
				served++
			case w.why(name, infrav1.ConditionHostClaimed) == "False NoHostAvailable":
				waiting++
			}
		}
		return served, waiting
	}
	w.Eventually(func(g Gomega) {
		claimed, waiting := served()
		g.Expect([]int{claimed, waiting}).To(Equal([]int{5, 3}))
	}).Should(Succeed())
}

func TestFreedHostWakesWaitingMachine(t *testing.T) {
	w := newWorld(t, live)
	w.host("h")
	w.setHost("h", func(host *infrav1.RepaveHost) {
		condition(host, infrav1.ConditionReady, false, infrav1.ReasonUnreachable)
	})
	w.machine("m")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionHostClaimed) }).Should(Equal("False NoHostAvailable"))
	w.setHost("h", func(host *infrav1.RepaveHost) { condition(host, infrav1.ConditionReady, true, infrav1.ReasonAvailable) })
	w.Eventually(func() []string { return w.claims("m") }, 2*time.Second).Should(Equal([]string{"h"}))

	host := w.getHost("h")
	w.Expect(host.Spec.Desired).To(Equal(&infrav1.HostDesired{
		Image: &infrav1.Image{Ref: "registry.example/os@" + digestA}, State: infrav1.DesiredStaged,
		Netboot:                 &infrav1.Netboot{Image: infrav1.Image{Ref: "registry.example/netboot@" + digestA}},
		BootstrapDataSecretName: "data", ProviderID: ProviderID(w.namespace, "h", "m"),
	}))
}

func TestWaitsForClusterAPI(t *testing.T) {
	w := newWorld(t, live)
	w.host("h")
	w.machine("m", func(machine *infrav1.RepaveMachine, owner *clusterv1.Machine) {
		machine.Labels[clusterv1.MachinePoolNameLabel] = "p"
		owner.Spec.Bootstrap.DataSecretName = ptr.To("")
	})
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("False WaitingForBootstrapData"))
	w.Expect(w.claims("m")).To(BeEmpty())

	pool := &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "p", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}},
		Spec: clusterv1.MachinePoolSpec{ClusterName: "c", Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("pool-data")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "RepaveMachinePool", Name: "p"},
		}}},
	}
	w.Expect(direct.Create(w.ctx, pool)).To(Succeed())
	w.Eventually(func() []string { return w.claims("m") }).Should(Equal([]string{"h"}))
	w.Expect(w.getHost("h").Spec.Desired.BootstrapDataSecretName).To(Equal("pool-data"))
}

func TestWaitsSilentlyForOwner(t *testing.T) {
	w := newWorld(t, "")
	w.host("h")
	machine := &infrav1.RepaveMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "m"},
		Spec:       infrav1.RepaveMachineSpec{Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: "registry.example/netboot@" + digestA}}},
	}
	w.Expect(direct.Create(w.ctx, machine)).To(Succeed())
	before := w.getMachine("m")
	w.drive(newReconciler(direct), "m")
	w.Expect(w.getMachine("m").ResourceVersion).To(Equal(before.ResourceVersion), "an object without its owner must not be written")
}

func TestPausedMachineIsLeftAlone(t *testing.T) {
	w := newWorld(t, live)
	w.host("h")
	w.machine("m", func(machine *infrav1.RepaveMachine, _ *clusterv1.Machine) {
		machine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	w.Eventually(func() string { return w.why("m", infrav1.ConditionPaused) }).Should(Equal("True Paused"))
	w.Consistently(func() []string { return w.claims("m") }, time.Second).Should(BeEmpty())
	machine := w.getMachine("m")
	before := machine.DeepCopy()
	delete(machine.Annotations, clusterv1.PausedAnnotation)
	w.Expect(direct.Patch(w.ctx, machine, client.MergeFrom(before))).To(Succeed())
	w.Eventually(func() []string { return w.claims("m") }).Should(Equal([]string{"h"}))
}

func TestFailureDomainAndSelector(t *testing.T) {
	w := newWorld(t, live)
	w.host("h1")
	w.machine("m1", func(_ *infrav1.RepaveMachine, owner *clusterv1.Machine) { owner.Spec.FailureDomain = "west" })
	w.machine("m2", func(machine *infrav1.RepaveMachine, _ *clusterv1.Machine) {
		machine.Spec.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "big"}}
	})
	for _, name := range []string{"m1", "m2"} {
		w.Eventually(func() string { return w.why(name, infrav1.ConditionHostClaimed) }).Should(Equal("False NoHostAvailable"))
	}
	host := w.getHost("h1")
	before := host.DeepCopy()
	host.Labels["kind"] = "big"
	w.Expect(direct.Patch(w.ctx, host, client.MergeFrom(before))).To(Succeed())
	w.Eventually(func() []string { return w.claims("m2") }).Should(Equal([]string{"h1"}))
	w.Expect(w.claims("m1")).To(BeEmpty())
}
