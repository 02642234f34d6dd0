// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/repave-io/cluster-api-provider-repave/agent"
	"github.com/repave-io/cluster-api-provider-repave/agent/identity"
	"github.com/repave-io/cluster-api-provider-repave/agent/join"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

var wanted = "sha256:" + hex('b')

// TestAHostIsBroughtToItsImage is the whole way: enrolment, join, stage, boot, proof; with the rights of production.
func TestAHostIsBroughtToItsImage(t *testing.T) {
	s := newSite(t)
	stop, _ := s.start()
	s.Eventually(s.agentStatus).Should(And(
		HaveField("BootID", "boot-0"), HaveField("NodeName", "h1"), HaveField("Driver", "box"), HaveField("Activity", infrav1.AgentIdle),
		HaveField("Install", &infrav1.InstallMark{Order: "7.1", Digest: s.config.Install.Digest}),
	))
	s.Eventually(func() bool { return (&join.Joiner{Files: onDisk(s.root)}).Joined(claimed) }).Should(BeTrue())
	raw, err := os.ReadFile(filepath.Join(s.root, orderv1.AgentConfigPath))
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(string(raw)).NotTo(ContainSubstring(credential), "the used credential is erased")

	s.wish(wanted, infrav1.DesiredStaged)
	s.Eventually(s.agentStatus).Should(And(HaveField("Activity", infrav1.AgentStaged), HaveField("Staged", HaveField("Digest", wanted))))
	s.Expect(string(s.box.Pulls()[0])).To(ContainSubstring(pullSecret))
	stop()

	_, gone := s.start() // a restart in between changes nothing
	s.wish(wanted, infrav1.DesiredBooted)
	s.Eventually(gone).Should(BeClosed())
	s.Expect(s.agentStatus()).To(HaveField("Activity", infrav1.AgentRebooting), "said before the host went down")

	s.start()
	s.Eventually(s.agentStatus).Should(And(
		HaveField("BootID", "boot-1"), HaveField("Booted", HaveField("Digest", wanted)), HaveField("Activity", infrav1.AgentIdle), HaveField("Failure", BeNil()),
	))
	s.Expect(s.box.Calls()).To(Equal([]string{"stage " + wanted, "boot " + wanted}))
	s.noSecretIsLogged()
}

func TestAnImageThatDoesNotComeUpIsToldAndNotTriedAgain(t *testing.T) {
	s := newSite(t)
	s.box.Broken = []string{wanted}
	_, gone := s.start()
	s.wish(wanted, infrav1.DesiredBooted)
	s.Eventually(gone).Should(BeClosed())

	failed := HaveField("Failure", HaveValue(Equal(infrav1.AgentFailure{
		Digest: wanted, Stage: infrav1.FailedBoot, Reason: infrav1.ReasonRolledBack,
		Message: "the image did not come up; the host went back to the one before",
	})))
	for range 2 { // told by this life and by the next
		stop, _ := s.start()
		s.Eventually(s.agentStatus).Should(And(HaveField("BootID", "boot-1"), failed))
		stop()
	}
	stop, _ := s.start(looking)
	s.wish(wanted, infrav1.DesiredStaged)
	s.Consistently(s.agentStatus, "500ms").Should(failed)
	s.Expect(s.box.Calls()).To(HaveLen(2), "one stage, one boot")
	stop()

	s.box.Broken = nil
	_, gone = s.start()
	s.wish(wanted, infrav1.DesiredBooted) // asked once more
	s.Eventually(gone).Should(BeClosed())
	s.start()
	s.Eventually(s.agentStatus).Should(And(HaveField("Booted", HaveField("Digest", wanted)), HaveField("Failure", BeNil())))
}

func TestUnknownImageIsAClearFailure(t *testing.T) {
	s := newSite(t)
	s.box.StageErrors = []error{agent.ErrImageNotFound}
	s.start(looking)
	s.wish(wanted, infrav1.DesiredStaged)
	s.Eventually(s.agentStatus).Should(And(
		HaveField("Failure", And(HaveField("Stage", infrav1.FailedStage), HaveField("Reason", infrav1.ReasonImageNotFound))),
		HaveField("Activity", infrav1.AgentIdle),
	))
	s.Consistently(s.box.Calls, "500ms").Should(HaveLen(1))
}

func TestTheDriverNoneSaysThatItCannot(t *testing.T) {
	s := newSite(t)
	s.start(func(o *agent.Options) { o.Driver = nil })
	s.wish(wanted, infrav1.DesiredBooted)
	s.Eventually(s.agentStatus).Should(And(
		HaveField("Driver", "none"), HaveField("Booted", HaveField("Digest", s.config.Install.Digest)),
		HaveField("Failure", And(HaveField("Reason", infrav1.ReasonUpdateFailed), HaveField("Message", ContainSubstring("netboot repave")))),
	))
}

func TestSlowStagingKeepsNothingElseWaiting(t *testing.T) {
	s := newSite(t)
	s.box.StageGate = make(chan struct{})
	other := "sha256:" + hex('c')
	s.start()
	s.wish(wanted, infrav1.DesiredStaged)
	s.Eventually(s.agentStatus).Should(HaveField("Activity", infrav1.AgentStaging))
	s.Eventually(func() *coordinationv1.LeaseSpec { return s.lease() }).Should(HaveValue(And(
		HaveField("HolderIdentity", HaveValue(Equal("h1"))), HaveField("LeaseDurationSeconds", HaveValue(BeEquivalentTo(40))),
		HaveField("RenewTime", HaveValue(HaveField("Time", BeTemporally("~", time.Now(), time.Minute)))),
	)))
	s.dropStatus() // the report comes back while the image is still being staged
	s.Eventually(s.agentStatus).Should(HaveField("Activity", infrav1.AgentStaging))

	s.wish(other, infrav1.DesiredStaged) // calls the first one off
	s.Eventually(s.log.String).Should(ContainSubstring("os@" + other))
	close(s.box.StageGate)
	s.Eventually(s.agentStatus).Should(HaveField("Staged", HaveField("Digest", other)))
	s.Expect(s.box.Calls()).To(Equal([]string{"stage " + other}))
}

// TestTheAgentOwnsItsPartOnly: what the controller writes beside it stays, and a host at rest costs no write.
func TestTheAgentOwnsItsPartOnly(t *testing.T) {
	s := newSite(t)
	host := s.host()
	before := client.MergeFrom(host.DeepCopy())
	host.Status.Phase, host.Status.Power = infrav1.HostPhase("Ready"), infrav1.PowerState("On")
	host.Status.Operations.RebootCounter = 3
	s.Expect(s.admin.Status().Patch(t.Context(), host, before, client.FieldOwner("controller"))).To(Succeed())
	s.start(looking)
	s.Eventually(s.agentStatus).Should(HaveField("BootID", "boot-0"))
	s.Eventually(func() bool { return (&join.Joiner{Files: onDisk(s.root)}).Joined(claimed) }).Should(BeTrue())

	rested := s.host()
	s.Expect(rested.Status.Power).To(Equal(infrav1.PowerState("On")))
	s.Expect(rested.Status.Operations.RebootCounter).To(BeEquivalentTo(3))
	owners := map[string]string{}
	for _, entry := range rested.ManagedFields {
		if entry.Subresource != "status" {
			continue
		}
		var fields map[string]map[string]json.RawMessage
		s.Expect(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		for field := range fields["f:status"] {
			owners[field] += entry.Manager
		}
	}
	s.Expect(owners).To(HaveKeyWithValue("f:agent", infrav1.AgentFieldOwner))
	s.Expect(owners).To(HaveKeyWithValue("f:power", "controller"))
	s.Consistently(func() string { return s.host().ResourceVersion }, "1s").Should(Equal(rested.ResourceVersion), "ten looks, no write")
}

// shifted is the real clock, ahead by some time.
type shifted struct {
	clock.RealClock
	by *atomic.Int64
}

func (s shifted) Now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

func TestTheCertificateIsRenewedWithItself(t *testing.T) {
	s := newSite(t)
	stop, _ := s.start()
	s.Eventually(s.agentStatus).Should(HaveField("BootID", "boot-0"))
	stop()
	first := s.certificateOnDisk()

	ahead := &atomic.Int64{}
	ahead.Store(int64(50 * time.Minute)) // of the hour that the first certificate lives
	s.start(func(o *agent.Options) { o.Clock = shifted{by: ahead} })
	var renewal certificatesv1.CertificateSigningRequest
	s.Eventually(func() bool {
		var requests certificatesv1.CertificateSigningRequestList
		if err := s.admin.List(t.Context(), &requests, client.MatchingLabels{infrav1.LabelHost: "h1"}); err != nil {
			return false
		}
		for _, each := range requests.Items {
			if each.Spec.Username == infrav1.HostUser(s.config.Host.Namespace, "h1") {
				renewal = each
				return true
			}
		}
		return false
	}).Should(BeTrue(), "asks with the identity that it has")
	ahead.Store(0)
	s.approve(&renewal)
	s.Eventually(func() []byte { return s.certificateOnDisk().Certificate[0] }).ShouldNot(Equal(first.Certificate[0]))
	s.Eventually(s.log.String).Should(ContainSubstring("Renewed the certificate"))
	s.dropStatus()
	s.Eventually(s.agentStatus).Should(HaveField("BootID", "boot-0"), "the renewed certificate is taken")
	s.noSecretIsLogged()
}

func TestAHostWithoutCertificateAndCredentialSaysSo(t *testing.T) {
	s := newSite(t)
	s.config.Enrolment = nil
	s.writeConfig()
	s.Expect(os.MkdirAll(filepath.Join(s.root, "run"), 0o755)).To(Succeed())
	s.Expect(os.WriteFile(filepath.Join(s.root, "run/boot_id"), []byte("b"), 0o600)).To(Succeed())
	err := agent.Run(t.Context(), agent.Options{Root: s.root, BootIDPath: "run/boot_id"})
	s.Expect(err).To(MatchError(identity.ErrNone))
}

func (s *site) certificateOnDisk() tls.Certificate {
	raw, err := os.ReadFile(filepath.Join(s.root, identity.CertificatePath))
	s.Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(raw, raw)
	s.Expect(err).NotTo(HaveOccurred())
	return certificate
}

func (s *site) lease() *coordinationv1.LeaseSpec {
	var lease coordinationv1.Lease
	s.Expect(s.admin.Get(s.t.Context(), client.ObjectKey{Namespace: s.config.Host.Namespace, Name: infrav1.LeaseName("h1")}, &lease)).To(Succeed())
	return &lease.Spec
}

// dropStatus loses the status, as a move between management clusters does.
func (s *site) dropStatus() {
	host := s.host()
	host.Status = infrav1.RepaveHostStatus{}
	s.Eventually(func() error {
		host.ResourceVersion = s.host().ResourceVersion
		return s.admin.Status().Update(s.t.Context(), host)
	}).Should(Succeed())
}
