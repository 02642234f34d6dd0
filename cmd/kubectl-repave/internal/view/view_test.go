// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func digest(c string) string {
	d := "sha256:"
	for range 64 {
		d += c
	}
	return d
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(3 * time.Minute)}
}

func busyHost() *infrav1.RepaveHost {
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Name: "r12", Namespace: "metal", CreationTimestamp: ago(48 * time.Hour)}}
	host.Spec = infrav1.RepaveHostSpec{
		BMC:        &infrav1.BMC{Address: "https://10.0.0.12", CredentialsRef: infrav1.SecretReference{Name: "r12-bmc"}, TLS: infrav1.BMCTLS{Mode: infrav1.TLSPinOnFirstUse}},
		Interfaces: []infrav1.NetworkInterface{{MAC: "52:54:00:aa:00:01"}},
		RootDevice: &infrav1.RootDevice{SerialNumber: "S1", MinSizeGigabytes: 400},
		ClaimRef:   &infrav1.HostClaim{Name: "workers-1", UID: "u"},
		Desired: &infrav1.HostDesired{
			Image: &infrav1.Image{Ref: "registry.example/os@" + digest("b")}, State: infrav1.DesiredStaged,
			Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: "registry.example/netboot@" + digest("c")}}, ProviderID: "repave://metal/r12/workers-1",
		},
		Operations: infrav1.Counters{RebootCounter: 1, RepaveCounter: 3},
	}
	host.Status = infrav1.RepaveHostStatus{
		Phase: infrav1.PhaseRepaving, Power: infrav1.PowerOn, NodeRef: &infrav1.NodeReference{Name: "r12"},
		Operations: infrav1.Counters{RebootCounter: 1, RepaveCounter: 2},
		Operation: &infrav1.Operation{
			ID: "op-7", Kind: infrav1.OperationRepave, Method: infrav1.MethodNetboot, Counter: 3, Step: infrav1.StepInstalling, Attempt: 2,
			StartedAt: ago(12 * time.Minute), StepAt: ago(2 * time.Minute), Message: "attempt 1: TimedOut: no proof",
		},
		BMC: &infrav1.BMCStatus{
			Manufacturer: "Contoso", Model: "X1", SerialNumber: "SN1", FirmwareVersion: "1.2", CertificateFingerprint: "ab12",
			Capabilities: infrav1.BMCCapabilities{ResetTypes: []string{"On", "ForceOff"}, BootTargets: []string{"UefiHttp"}},
		},
		Agent: &infrav1.AgentStatus{
			Version: "v0.1.0", Driver: "bootc", BootID: "boot-1", Activity: infrav1.AgentStaged,
			Addresses: []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.1.0.12"}},
			Booted:    &infrav1.HostImage{Digest: digest("a"), Version: "1.0"}, Staged: &infrav1.HostImage{Digest: digest("b")},
			Install: &infrav1.InstallMark{Order: "op-3.1", Digest: digest("c")},
			Failure: &infrav1.AgentFailure{Digest: digest("d"), Stage: infrav1.FailedBoot, Reason: "BootFailed", Message: "unit kubelet failed"},
		},
		Netboot: &infrav1.NetbootStatus{
			Image: infrav1.NetbootImageStatus{Digest: digest("c"), State: infrav1.ImageReady}, BootedOrder: "op-7.2", RedeemedOrder: "op-7.1",
			Failure: &infrav1.InstallFailure{Order: "op-7.1", Reason: "DiskNotFound", Message: "2 disks match"},
		},
		Conditions: []metav1.Condition{
			condition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonRepaving, "repave 3, attempt 2 of 3: installing"),
			condition(infrav1.ConditionBMCReachable, metav1.ConditionTrue, infrav1.ReasonReachable, ""),
			condition(infrav1.ConditionAgentConnected, metav1.ConditionFalse, infrav1.ReasonLeaseExpired, "the Lease was not renewed"),
		},
		History: []infrav1.OperationRecord{{
			ID: "op-3", Kind: infrav1.OperationRepave, Why: "Claim", Outcome: infrav1.OutcomeSucceeded, Attempts: 1, StartedAt: ago(40 * time.Hour), DurationSeconds: 391,
		}},
	}
	return host
}

// newHost is one that nothing is known of yet, with a message that tries to drive the terminal.
func newHost() *infrav1.RepaveHost {
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Name: "r2", Namespace: "metal", CreationTimestamp: ago(time.Minute)}}
	host.Status.Conditions = []metav1.Condition{condition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonBMCError, "says\n\x1b[2Jboo")}
	return host
}

func hostTable(columns HostColumns, width int) string {
	table := Table{Width: width}
	return table.Lines(columns.Heading(), columns.Row(busyHost(), now), columns.Row(newHost(), now))
}

func pool() (*infrav1.RepaveMachinePool, []infrav1.RepaveMachine) {
	p := &infrav1.RepaveMachinePool{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	p.Status = infrav1.RepaveMachinePoolStatus{
		Replicas: ptr.To[int32](2), ReadyReplicas: ptr.To[int32](1), UpToDateReplicas: ptr.To[int32](1), UpdatingReplicas: ptr.To[int32](1),
		UnavailableReplicas: ptr.To[int32](1), TargetDigest: digest("b"), DeployedDigest: digest("a"),
		Conditions: []metav1.Condition{
			condition(infrav1.ConditionUpToDate, metav1.ConditionFalse, infrav1.ReasonRolloutInProgress, "1/2 updated; 1 draining (workers-1)"),
			condition(infrav1.ConditionReady, metav1.ConditionFalse, infrav1.ReasonNotAllReady, "1/2 ready"),
		},
	}
	waiting := infrav1.RepaveMachine{ObjectMeta: metav1.ObjectMeta{Name: "workers-1"}}
	waiting.Status = infrav1.RepaveMachineStatus{
		HostRef: &infrav1.HostReference{Name: "r12"}, NodeRef: &infrav1.NodeReference{Name: "r12"},
		Image:  infrav1.MachineImages{Booted: &infrav1.HostImage{Digest: digest("a"), Version: "1.0"}},
		Update: &infrav1.MachineUpdate{Digest: digest("b"), Step: infrav1.UpdateDraining, Message: "default/db-0: its PodDisruptionBudget allows no eviction"},
	}
	done := infrav1.RepaveMachine{ObjectMeta: metav1.ObjectMeta{Name: "workers-2"}}
	done.Status = infrav1.RepaveMachineStatus{
		HostRef: &infrav1.HostReference{Name: "r2"}, Available: true, Image: infrav1.MachineImages{Booted: &infrav1.HostImage{Digest: digest("b")}},
		Update:     &infrav1.MachineUpdate{Digest: digest("b"), Step: infrav1.UpdateUpToDate},
		Conditions: []metav1.Condition{condition(infrav1.ConditionReady, metav1.ConditionTrue, "UpToDate", "")},
	}
	return p, []infrav1.RepaveMachine{waiting, done}
}

// TestGolden compares every text with the one in testdata; go test -update writes them anew.
func TestGolden(t *testing.T) {
	p, members := pool()
	for name, got := range map[string]string{
		"hosts":         hostTable(HostColumns{}, 0),
		"hosts-clipped": hostTable(HostColumns{}, 130),
		"hosts-wide":    hostTable(HostColumns{Wide: true, Namespace: true}, 0),
		"describe":      Host(busyHost(), now),
		"describe-new":  Host(newHost(), now),
		"pool":          Pool(p, members, 100),
		"pools":         (&Table{}).Lines(Pools([]infrav1.RepaveMachinePool{*p, {ObjectMeta: metav1.ObjectMeta{Name: "new"}}})...),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestWidthsOnlyGrow: rows that a watch prints later stand under the headings.
func TestWidthsOnlyGrow(t *testing.T) {
	var table Table
	got := table.Lines([]string{"NAME", "WHY"}, []string{"a-long-name", "x"}) + table.Lines([]string{"b", "y"})
	want := "NAME          WHY\na-long-name   x\nb             y\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
