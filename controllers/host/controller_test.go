// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

func serving(t *testing.T) *world {
	w := newWorld(t)
	w.settle()
	w.edit(w.claim)
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonServing)
	return w
}

// TestLifeOfAHost: enrolled, claimed and installed, rebooted, repaved, released, deleted.
func TestLifeOfAHost(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonAvailable)
	host := w.host()
	w.Expect(host.Status.Phase).To(Equal(infrav1.PhaseAvailable))
	w.Expect(host.Status.BMC.Manufacturer).To(Equal("Contoso"))
	w.Expect(host.Status.BMC.CertificateFingerprint).To(Equal("aabb"))
	w.Expect(w.bmcs.endpoint[Key(host)].Fingerprint).To(Equal("aabb"), "the pin goes back to the BMC's client")
	w.Expect(w.box.ons+w.box.cuts).To(BeZero(), "an unclaimed host is left as it is")

	w.edit(w.claim)
	w.settle()
	host = w.host()
	w.says(infrav1.ConditionReady, infrav1.ReasonServing)
	w.says(infrav1.ConditionProvisioned, infrav1.ReasonProvisioned)
	w.says(infrav1.ConditionRepaved, infrav1.ReasonRepaveSucceeded)
	w.says(infrav1.ConditionAgentConnected, infrav1.ReasonConnected)
	w.says(infrav1.ConditionIdle, infrav1.ReasonIdle)
	w.says(infrav1.ConditionDegraded, infrav1.ReasonHealthy)
	w.says(infrav1.ConditionPaused, infrav1.ReasonNotPaused)
	w.Expect(host.Status.Installed).To(Equal(host.Spec.Desired.ProviderID))
	w.Expect(host.Status.NodeRef).To(Equal(&infrav1.NodeReference{Name: "n1"}))
	w.Expect(w.redeemed).To(HaveLen(1))

	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Operations = infrav1.Counters{RebootCounter: 2, RepaveCounter: 1} })
	w.settle()
	host = w.host()
	w.Expect(host.Status.Operations).To(Equal(infrav1.Counters{RebootCounter: 2, RepaveCounter: 1}))
	w.Expect(host.Status.History).To(HaveLen(3))
	w.Expect(host.Status.History[0].Kind).To(Equal(infrav1.OperationReboot), "the repave came first")
	w.Expect([]int{w.box.cuts, w.box.ons, len(w.redeemed)}).To(Equal([]int{2, 3, 2}))

	w.Expect(direct.Delete(t.Context(), host)).To(Succeed())
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonStillClaimed)
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Desired = nil })
	w.settle()
	w.Expect(w.box.power).To(Equal(redfish.Off))
	w.Expect(w.host().Status.Installed).To(BeEmpty())
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.ClaimRef = nil })
	w.settle()
	w.Expect(w.gone()).To(BeTrue())
	said := strings.Join(w.events.said, "\n")
	for _, reason := range []string{infrav1.EventHostEnrolled, infrav1.EventBMCCertificatePin, infrav1.EventClaimed, infrav1.EventOperationStarted, infrav1.EventOperationSucceeded} {
		w.Expect(said).To(ContainSubstring(reason))
	}
	w.Expect(said).NotTo(ContainSubstring(password))
}

func TestConvergedHostIsNotWritten(t *testing.T) {
	w := serving(t)
	before := w.host()
	w.writes.n = 0
	for range 10 {
		result, err := w.r.Reconcile(t.Context(), requestOf(w))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", w.r.Limits.Lease)), "it looks again when the Lease would run out")
	}
	w.Expect(w.host().ResourceVersion).To(Equal(before.ResourceVersion))
	w.Expect(w.writes.n).To(BeZero())
	text, err := json.Marshal(before)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(text)).NotTo(ContainSubstring(password))
}

func TestAgentIsLetInToItsOwn(t *testing.T) {
	w := serving(t)
	key := client.ObjectKey{Namespace: w.key.Namespace, Name: infrav1.AgentRoleName(w.key.Name)}
	role, binding, lease := &rbacv1.Role{}, &rbacv1.RoleBinding{}, &coordinationv1.Lease{}
	w.Expect(direct.Get(t.Context(), key, role)).To(Succeed())
	w.Expect(direct.Get(t.Context(), key, binding)).To(Succeed())
	w.Expect(direct.Get(t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: infrav1.LeaseName(w.key.Name)}, lease)).To(Succeed())
	w.Expect(lease.OwnerReferences).To(HaveLen(1))
	w.Expect(binding.Subjects).To(HaveLen(1))
	w.Expect(binding.Subjects[0].Name).To(Equal(infrav1.HostUser(w.key.Namespace, w.key.Name)))
	for _, rule := range role.Rules {
		w.Expect(rule.ResourceNames).NotTo(BeEmpty(), "%v", rule)
		if rule.Resources[0] == "secrets" {
			w.Expect(rule.ResourceNames).To(Equal([]string{"join", "pull"}))
			w.Expect(rule.Verbs).To(Equal([]string{"get"}))
		}
	}
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
	w.Expect(direct.Update(t.Context(), role)).To(Succeed())
	w.clock = w.clock.Add(2 * accessAge)
	w.settle()
	w.Expect(direct.Get(t.Context(), key, role)).To(Succeed())
	w.Expect(role.Rules).To(HaveLen(4), "what somebody added is taken away again")
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Desired = nil })
	w.settle()
	w.Expect(direct.Get(t.Context(), key, role)).To(Succeed())
	w.Expect(role.Rules).To(HaveLen(3), "the Secrets of the claim end with it")
}

// TestTroubleShowsItsReason: each bad input has a reason of its own, and is looked at again without haste.
func TestTroubleShowsItsReason(t *testing.T) {
	failing := func(class redfish.Class) func(*world) {
		return func(w *world) {
			w.box.fail(&redfish.Error{Class: class, Op: "reading the system", Message: "it went wrong"})
		}
	}
	data := func(data map[string][]byte) func(*world) {
		return func(w *world) {
			secret := &corev1.Secret{}
			w.Expect(direct.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: "bmc"}, secret)).To(Succeed())
			secret.Data = data
			w.Expect(direct.Update(w.t.Context(), secret)).To(Succeed())
		}
	}
	tests := []struct {
		reason string
		breaks func(*world)
	}{
		{infrav1.ReasonUnreachable, failing(redfish.Unreachable)},
		{infrav1.ReasonCredentialsInvalid, failing(redfish.Auth)},
		{infrav1.ReasonCertificateChanged, failing(redfish.Certificate)},
		{infrav1.ReasonBMCUnsupported, failing(redfish.Unsupported)},
		{infrav1.ReasonBMCError, failing(redfish.Transient)},
		{infrav1.ReasonCredentialsMissing, data(map[string][]byte{"username": []byte("admin")})},
		{infrav1.ReasonCredentialsMissing, func(w *world) {
			w.edit(func(h *infrav1.RepaveHost) { h.Spec.BMC.CredentialsRef.Name = "nowhere" })
		}},
		{infrav1.ReasonSecretForbidden, func(w *world) { w.r.APIReader = stranger(w) }},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			w := newWorld(t)
			test.breaks(w)
			w.settle()
			w.says(infrav1.ConditionReady, test.reason)
			w.says(infrav1.ConditionBMCReachable, test.reason)
			w.says(infrav1.ConditionDegraded, infrav1.ReasonError)
			w.Expect(w.turn().RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", troublePause)))
			w.Expect(w.host().Status.Phase).To(Equal(infrav1.PhasePending))
		})
	}
}

// stranger reads as somebody without any right to Secrets.
func stranger(w *world) client.Reader {
	w.t.Helper()
	as := *config
	as.Impersonate.UserName = "stranger"
	reader, err := client.New(&as, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	return reader
}

func TestRefusedOperations(t *testing.T) {
	tests := []struct {
		reason string
		change func(*infrav1.RepaveHost)
	}{
		{infrav1.ReasonRootDeviceMissing, func(h *infrav1.RepaveHost) { h.Spec.RootDevice, h.Spec.Operations.RepaveCounter = nil, 1 }},
		{infrav1.ReasonNoNetbootImage, func(h *infrav1.RepaveHost) { h.Spec.Desired.Netboot, h.Spec.Operations.RepaveCounter = nil, 1 }},
		{infrav1.ReasonNoPowerControl, func(h *infrav1.RepaveHost) { h.Spec.BMC, h.Spec.Operations.RebootCounter = nil, 1 }},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			w := serving(t)
			cuts := w.box.cuts
			w.edit(test.change)
			w.settle()
			w.says(infrav1.ConditionReady, test.reason)
			w.says(infrav1.ConditionDegraded, infrav1.ReasonError)
			host := w.host()
			w.Expect(host.Status.Operation).To(BeNil())
			w.Expect(host.Status.Operations).To(Equal(infrav1.Counters{}))
			w.Expect(w.box.cuts).To(Equal(cuts))
		})
	}
}

func TestUnreadableRecordStopsEverything(t *testing.T) {
	w := serving(t)
	cuts, ons := w.box.cuts, w.box.ons
	w.edit(func(h *infrav1.RepaveHost) {
		h.Annotations[infrav1.AnnotationRecord] = `{"version":1,`
		h.Spec.Operations = infrav1.Counters{RebootCounter: 1, RepaveCounter: 1}
	})
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonRecordUnreadable)
	w.Expect([]int{w.box.cuts, w.box.ons}).To(Equal([]int{cuts, ons}))
	w.Expect(w.host().Annotations[infrav1.AnnotationRecord]).To(Equal(`{"version":1,`))
}

// TestLostStatus: neither a lost status nor a host that came without record and status reboots or installs anything.
func TestLostStatus(t *testing.T) {
	w := serving(t)
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Operations = infrav1.Counters{RebootCounter: 4, RepaveCounter: 2} })
	w.settle()
	cuts, ons := w.box.cuts, w.box.ons
	acknowledged := w.host().Status.Operations
	for _, name := range []string{"status", "record", "both"} {
		agent := w.host().Status.Agent
		if name != "record" {
			w.editStatus(func(s *infrav1.RepaveHostStatus) { *s = infrav1.RepaveHostStatus{Agent: agent} })
		}
		if name != "status" {
			w.edit(func(h *infrav1.RepaveHost) { delete(h.Annotations, infrav1.AnnotationRecord) })
		}
		w.restart(0, false)
		w.settle()
		w.says(infrav1.ConditionReady, infrav1.ReasonServing)
		w.Expect(w.host().Status.Operations).To(Equal(acknowledged), name)
		w.Expect([]int{w.box.cuts, w.box.ons}).To(Equal([]int{cuts, ons}), name)
	}
}

func TestPausedHostIsLeftAlone(t *testing.T) {
	w := serving(t)
	cuts := w.box.cuts
	w.edit(func(h *infrav1.RepaveHost) {
		h.Annotations[clusterv1.PausedAnnotation] = ""
		h.Spec.Operations.RebootCounter = 1
	})
	w.settle()
	w.says(infrav1.ConditionPaused, infrav1.ReasonPaused)
	w.Expect(w.host().Status.Operation).To(BeNil())
	w.edit(func(h *infrav1.RepaveHost) { delete(h.Annotations, clusterv1.PausedAnnotation) })
	w.settle()
	w.Expect(w.host().Status.Operations.RebootCounter).To(Equal(int64(1)))
	w.Expect(w.box.cuts).To(Equal(cuts + 1))
}

// TestPowerAndRelease: spec.online, a release that a dead BMC blocks, a person who lets go, a certificate that is pinned anew.
func TestPowerAndRelease(t *testing.T) {
	w := serving(t)
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Online = ptr.To(false) })
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonPoweredOff)
	w.Expect(w.box.power).To(Equal(redfish.Off))
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Online = ptr.To(true) })
	for range 20 {
		w.turn()
	}
	w.Expect(w.box.power).To(Equal(redfish.On))
	w.settle()

	w.edit(func(h *infrav1.RepaveHost) { h.Annotations[infrav1.AnnotationRepinBMC] = "true" })
	w.settle()
	w.Expect(w.host().Annotations).NotTo(HaveKey(infrav1.AnnotationRepinBMC))
	w.Expect(w.host().Status.BMC.CertificateFingerprint).To(Equal("aabb"))

	w.box.fail(&redfish.Error{Class: redfish.Unreachable, Op: "reading the system", Message: "no answer"})
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Desired = nil })
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonReleaseBlocked)
	w.edit(func(h *infrav1.RepaveHost) { h.Annotations[infrav1.AnnotationForceRelease] = "true" })
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonReleasing)
	w.Expect(lifecycle.Released(w.host())).To(BeTrue())
	w.Expect(w.host().Annotations).NotTo(HaveKey(infrav1.AnnotationForceRelease), "a force is for one release: the next must cut the power again")
}

// TestCommandsNeedTheLiveRecord: a decision on an old copy of the host commands nothing.
func TestCommandsNeedTheLiveRecord(t *testing.T) {
	w := serving(t)
	stale := w.host()
	w.edit(func(h *infrav1.RepaveHost) { h.Spec.Operations.RebootCounter = 1 })
	w.settle()
	cuts := w.box.cuts
	w.restart(0, false)
	w.bmcs.Connect(Key(stale), redfish.Endpoint{})
	err := w.r.command(t.Context(), stale, commandOff)
	w.Expect(err).To(HaveOccurred())
	w.Expect(w.box.cuts).To(Equal(cuts))
	w.Expect(w.r.command(t.Context(), w.host(), commandOff)).To(Succeed())
	w.Expect(w.box.cuts).To(Equal(cuts + 1))
}
