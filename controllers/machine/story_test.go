// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// serving brings a machine to its host and its Node, all on image A.
func (w *world) serving() {
	w.t.Helper()
	w.host("h")
	w.machine("m")
	w.Eventually(func() []string { return w.claims("m") }).Should(Equal([]string{"h"}))
	w.install("h", "m")
	w.node("h", "m")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("True Serving"))
	w.Eventually(func() string { return w.why("m", infrav1.ConditionUpToDate) }).Should(Equal("True UpToDate"))
}

func (w *world) change(name string, change func(*infrav1.RepaveMachine)) {
	w.t.Helper()
	machine := w.getMachine(name)
	before := machine.DeepCopy()
	change(machine)
	w.Expect(direct.Patch(w.ctx, machine, client.MergeFrom(before))).To(Succeed())
}

func (w *world) wantImage(digest string) {
	w.change("m", func(machine *infrav1.RepaveMachine) {
		machine.Spec.Image = &infrav1.Image{Ref: "registry.example/os@" + digest}
	})
}

func (w *world) grantSlot(digest string) {
	w.change("m", func(machine *infrav1.RepaveMachine) { machine.Spec.Slot = &infrav1.MachineSlot{Digest: digest} })
}

// asked gives what the host is asked for in place.
func (w *world) asked() string {
	desired := w.getHost("h").Spec.Desired
	return string(desired.State) + " " + desired.Image.Digest()
}

func (w *world) step() infrav1.UpdateStep {
	if begun := w.getMachine("m").Status.Update; begun != nil {
		return begun.Step
	}
	return ""
}

func TestProvisioned(t *testing.T) {
	w := newWorld(t, live)
	w.host("h")
	w.machine("m")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("False WaitingForHost"))
	w.Expect(w.getMachine("m").Spec.ProviderID).To(BeEmpty())
	w.install("h", "m")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("False WaitingForNode"))
	machine := w.getMachine("m")
	w.Expect(machine.Spec.ProviderID).To(Equal("repave://" + w.namespace + "/h/m"))
	w.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	w.Expect(machine.Status.Addresses).To(ConsistOf(clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: "192.0.2.7"}))
	w.Expect(machine.Status.FailureDomain).To(Equal("east"))
	w.Expect(machine.Status.HostRef).To(Equal(&infrav1.HostReference{Name: "h"}))
	w.Expect(machine.Status.Image.Booted).To(Equal(&infrav1.HostImage{Digest: digestA}))
	w.Expect(machine.Status.Available).To(BeFalse())

	w.node("h", "m")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("True Serving"))
	w.Eventually(func() string { return w.why("m", infrav1.ConditionNodeUpdated) }).Should(Equal("True Succeeded"))
	w.Expect(w.getMachine("m").Status.NodeRef).To(Equal(&infrav1.NodeReference{Name: w.nodeName("h")}))
	w.Expect(w.getMachine("m").Status.Available).To(BeTrue(), "the pool's budget counts by this")
	settled := w.getMachine("m").ResourceVersion
	w.setHost("h", func(host *infrav1.RepaveHost) { host.Status.Power = infrav1.PowerOn })
	w.Consistently(func() string { return w.getMachine("m").ResourceVersion }, time.Second).Should(Equal(settled), "a converged machine must not be written")
}

func TestInPlaceRepave(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	w.wantImage(digestB)
	w.Eventually(w.asked).Should(Equal("Staged " + digestB))
	w.setHost("h", func(host *infrav1.RepaveHost) { host.Status.Agent.Staged = &infrav1.HostImage{Digest: digestB} })
	w.Eventually(func() string { return w.why("m", infrav1.ConditionUpToDate) }).Should(Equal("False WaitingForSlot"))
	w.Expect(w.getNode("h").Spec.Unschedulable).To(BeFalse(), "staging must disturb nothing")

	w.grantSlot(digestB)
	w.Eventually(w.asked).Should(Equal("Booted " + digestB))
	w.Expect(w.getNode("h").Spec.Unschedulable).To(BeTrue())
	w.Expect(w.getNode("h").Annotations).To(HaveKeyWithValue(infrav1.AnnotationCordoned, w.namespace+"/m"))
	w.Expect(w.getMachine("m").Status.Update.BootID).To(Equal("boot-1"))
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("False Booting"))
	w.Expect(w.getMachine("m").Status.Available).To(BeFalse())

	w.wantImage(digestA)
	w.Consistently(w.asked, 500*time.Millisecond).Should(Equal("Booted "+digestB), "a boot under way must not be called back")
	w.wantImage(digestB)

	w.setHost("h", func(host *infrav1.RepaveHost) {
		host.Status.Agent.Booted, host.Status.Agent.Staged, host.Status.Agent.BootID = &infrav1.HostImage{Digest: digestB}, nil, "boot-2"
	})
	w.Eventually(w.step).Should(Equal(infrav1.UpdateVerifying))
	w.Expect(w.getNode("h").Spec.Unschedulable).To(BeTrue(), "an unproven Node must stay cordoned")
	w.setNode("h", true, "boot-2")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionNodeUpdated) }).Should(Equal("True Succeeded"))
	w.Expect(w.getNode("h").Spec.Unschedulable).To(BeFalse())
	w.Expect(w.getNode("h").Annotations).NotTo(HaveKey(infrav1.AnnotationCordoned))
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("True Serving"))
	w.Eventually(func() bool { return w.getMachine("m").Status.Available }).Should(BeTrue())
}

func TestRollback(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	w.wantImage(digestB)
	w.grantSlot(digestB)
	w.Eventually(w.asked).Should(Equal("Staged " + digestB))
	w.setHost("h", func(host *infrav1.RepaveHost) { host.Status.Agent.Staged = &infrav1.HostImage{Digest: digestB} })
	w.Eventually(w.asked).Should(Equal("Booted " + digestB))
	w.setHost("h", func(host *infrav1.RepaveHost) {
		host.Status.Agent.BootID = "boot-3"
		host.Status.Agent.Failure = &infrav1.AgentFailure{Digest: digestB, Stage: infrav1.FailedBoot, Reason: infrav1.ReasonBootFailed, Message: "kernel panic"}
	})
	w.setNode("h", true, "boot-3")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionNodeUpdated) }).Should(Equal("False RolledBack"))
	w.Eventually(w.asked).Should(Equal("Staged " + digestB))
	w.Eventually(func() bool { return w.getNode("h").Spec.Unschedulable }).Should(BeFalse())
	w.Consistently(w.asked, 500*time.Millisecond).Should(Equal("Staged "+digestB), "an image that failed must not be tried again")
}

func TestUnreachableClusterBlocksNoClaimAndNoDeletion(t *testing.T) {
	w := newWorld(t, live)
	workload.setDown(w.key("c"), true)
	w.host("h")
	w.machine("m")
	w.Eventually(func() []string { return w.claims("m") }).Should(Equal([]string{"h"}))
	w.install("h", "m")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("Unknown WorkloadUnreachable"))
	w.deleteAndExpectGone("m")
}

// deleteAndExpectGone deletes a machine that serves on h, and plays the power off.
func (w *world) deleteAndExpectGone(name string) {
	w.t.Helper()
	w.Expect(direct.Delete(w.ctx, w.getMachine(name))).To(Succeed())
	w.Eventually(func() *infrav1.HostDesired { return w.getHost("h").Spec.Desired }).Should(BeNil())
	w.Eventually(func() string { return w.why(name, infrav1.ConditionReady) }).Should(Equal("False Releasing"))
	w.Expect(w.claims(name)).To(Equal([]string{"h"}))
	w.powerOff("h")
	w.expectGone(name)
	w.Expect(w.claims(name)).To(BeEmpty())
}

func (w *world) expectGone(name string) {
	w.t.Helper()
	w.Eventually(func() bool {
		return apierrors.IsNotFound(direct.Get(w.ctx, w.key(name), &infrav1.RepaveMachine{}))
	}).Should(BeTrue())
}

func TestDeletionWithoutClusterAndOwner(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	w.Expect(direct.Delete(w.ctx, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}})).To(Succeed())
	w.Expect(direct.Delete(w.ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "m"}})).To(Succeed())
	w.deleteAndExpectGone("m")
}

func TestDeletionOfWaitingMachine(t *testing.T) {
	w := newWorld(t, live)
	w.machine("m")
	w.Eventually(func() string { return w.why("m", infrav1.ConditionHostClaimed) }).Should(Equal("False NoHostAvailable"))
	w.Expect(direct.Delete(w.ctx, w.getMachine("m"))).To(Succeed())
	w.expectGone("m")
}

func TestForcedRelease(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	w.Expect(direct.Delete(w.ctx, w.getMachine("m"))).To(Succeed())
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("False Releasing"))
	w.setHost("h", func(host *infrav1.RepaveHost) {
		condition(host, infrav1.ConditionReady, false, infrav1.ReasonReleaseBlocked)
	})
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("False ReleaseBlocked"))
	w.change("m", func(machine *infrav1.RepaveMachine) {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, infrav1.AnnotationForceRelease, "true")
	})
	w.expectGone("m")
	w.Expect(w.claims("m")).To(BeEmpty())
}

func TestReleaseOfAPausedHostSaysWhatItWaitsFor(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	host := w.getHost("h")
	before := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, clusterv1.PausedAnnotation, "")
	w.Expect(direct.Patch(w.ctx, host, client.MergeFrom(before))).To(Succeed())
	w.Expect(direct.Delete(w.ctx, w.getMachine("m"))).To(Succeed())
	w.Eventually(func() string { return w.why("m", infrav1.ConditionReady) }).Should(Equal("False " + infrav1.ReasonPaused))
	w.powerOff("h")
	w.expectGone("m")
}

func TestHostLost(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	w.host("h2")
	w.Expect(direct.Delete(w.ctx, w.getHost("h"))).To(Succeed())
	w.Eventually(func() string { return w.why("m", infrav1.ConditionHostClaimed) }).Should(Equal("False HostLost"))
	w.Expect(w.claims("m")).To(BeEmpty(), "a machine with a provider ID must not move to another host")
	w.Expect(direct.Delete(w.ctx, w.getMachine("m"))).To(Succeed())
	w.expectGone("m")
}

func TestAbandonedUpdateGivesCordonBack(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	w.wantImage(digestB)
	w.grantSlot(digestB)
	w.Eventually(w.asked).Should(Equal("Staged " + digestB))
	w.setHost("h", func(host *infrav1.RepaveHost) { host.Status.Agent.Staged = &infrav1.HostImage{Digest: digestB} })
	w.Eventually(w.asked).Should(Equal("Booted " + digestB))
	w.Expect(direct.Delete(w.ctx, w.getMachine("m"))).To(Succeed())
	w.Eventually(func() *infrav1.HostDesired { return w.getHost("h").Spec.Desired }).Should(BeNil())
	w.Expect(w.getNode("h").Spec.Unschedulable).To(BeFalse())
	w.Expect(w.getNode("h").Annotations).NotTo(HaveKey(infrav1.AnnotationCordoned))
}

func TestMoveRenewsClaim(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	host := w.getHost("h")
	before := host.DeepCopy()
	host.Spec.ClaimRef.UID = "of-another-cluster"
	w.Expect(direct.Patch(w.ctx, host, client.MergeFrom(before))).To(Succeed())
	machine := w.getMachine("m")
	machine.Status = infrav1.RepaveMachineStatus{}
	w.Expect(direct.Status().Update(w.ctx, machine)).To(Succeed())
	w.Eventually(func() string { return w.getHost("h").Spec.ClaimRef.UID }).Should(Equal(string(machine.UID)))
	w.Eventually(func() string { return w.why("m", infrav1.ConditionUpToDate) }).Should(Equal("True UpToDate"))
	w.Expect(w.asked()).To(Equal("Staged " + digestA))
}

// TestMovedMachineReleasesNothing: clusterctl move deletes the source's objects when the target's serve already.
func TestMovedMachineReleasesNothing(t *testing.T) {
	w := newWorld(t, live)
	w.serving()
	w.change("m", func(machine *infrav1.RepaveMachine) {
		machine.Annotations = map[string]string{infrav1.AnnotationDeleteForMove: ""}
	})
	before := w.getHost("h").Spec
	w.Expect(direct.Delete(w.ctx, w.getMachine("m"))).To(Succeed())
	w.Consistently(func() any { return w.getHost("h").Spec }, time.Second).Should(Equal(before), "the host of a moved machine must be left alone")
	w.change("m", func(machine *infrav1.RepaveMachine) { machine.Finalizers = nil }) // as clusterctl does
	w.expectGone("m")
	w.Expect(w.getHost("h").Spec).To(Equal(before))
}
