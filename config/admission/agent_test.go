// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// propagation is how long the API server may take to know a new policy.
const propagation = 20 * time.Second

func TestTheListOfStatusFieldsIsWhole(t *testing.T) {
	g := NewWithT(t)
	covered := map[string]bool{}
	rule := regexp.MustCompile(`^request\.operation != 'UPDATE' \|\| object\.\?status\.\?(\w+) == oldObject\.\?status\.\?(\w+)$`)
	for _, validation := range policy(t, "agent-status.yaml").Spec.Validations {
		if fields := rule.FindStringSubmatch(validation.Expression); fields != nil {
			g.Expect(fields[1]).To(Equal(fields[2]))
			g.Expect(validation.Message).To(HaveSuffix("status." + fields[1]))
			covered[fields[1]] = true
		}
	}
	want := map[string]bool{}
	status := reflect.TypeFor[infrav1.RepaveHostStatus]()
	for i := range status.NumField() {
		name, _, _ := strings.Cut(status.Field(i).Tag.Get("json"), ",")
		g.Expect(name).NotTo(BeEmpty(), "an inlined field needs a rule of its own")
		if name != "agent" {
			want[name] = true
		}
	}
	g.Expect(covered).To(Equal(want))
}

// fullStatus has every field set, so that an agent has something to take away. The test fails where a field is left out.
func fullStatus(t *testing.T) infrav1.RepaveHostStatus {
	t.Helper()
	g := NewWithT(t)
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	status := infrav1.RepaveHostStatus{
		Phase: infrav1.PhaseReady,
		Operation: &infrav1.Operation{
			ID: "op", Kind: infrav1.OperationRepave, Method: infrav1.MethodNetboot, Step: infrav1.StepInstalling, Attempt: 1,
			StartedAt: now, StepAt: now, Deadline: now,
		},
		Operations:         infrav1.Counters{RebootCounter: 1},
		History:            []infrav1.OperationRecord{{ID: "old", Kind: infrav1.OperationReboot, Outcome: infrav1.OutcomeSucceeded, StartedAt: now}},
		BMC:                &infrav1.BMCStatus{CertificateFingerprint: strings.Repeat("a", 64)},
		Power:              infrav1.PowerOn,
		Installed:          "repave://a/h1/m1",
		Netboot:            &infrav1.NetbootStatus{RedeemedOrder: "op.1"},
		Agent:              &infrav1.AgentStatus{Version: "v1"},
		NodeRef:            &infrav1.NodeReference{Name: "n1"},
		ObservedGeneration: 1,
		Conditions:         []metav1.Condition{{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonServing, LastTransitionTime: now}},
	}
	value := reflect.ValueOf(status)
	for i := range value.NumField() {
		g.Expect(value.Field(i).IsZero()).To(BeFalse(), value.Type().Field(i).Name)
	}
	return status
}

func newHost(t *testing.T, namespace string) *infrav1.RepaveHost {
	t.Helper()
	g := NewWithT(t)
	ctx := context.Background()
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "h-"}}
	g.Expect(admin.Create(ctx, host)).To(Succeed())
	host.Status = fullStatus(t)
	g.Expect(admin.Status().Update(ctx, host)).To(Succeed())
	return host
}

// awaitPolicy waits until the API server refuses what a policy forbids.
func awaitPolicy(t *testing.T, forbidden func() error) {
	t.Helper()
	NewWithT(t).Eventually(forbidden, propagation, 50*time.Millisecond).Should(Satisfy(deniedByPolicy))
}

func deniedByPolicy(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

func TestAgentWritesItsOwnPartOnly(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	host := newHost(t, "a")
	own := agent(t, "a", host.Name)
	awaitPolicy(t, func() error {
		forbidden := host.DeepCopy()
		forbidden.Status.Phase = infrav1.PhaseFailed
		return own.Status().Update(ctx, forbidden, client.DryRunAll)
	})

	status := reflect.TypeFor[infrav1.RepaveHostStatus]()
	for i := range status.NumField() {
		field := status.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "agent" {
			continue
		}
		taken := host.DeepCopy()
		reflect.ValueOf(&taken.Status).Elem().Field(i).SetZero()
		err := own.Status().Update(ctx, taken, client.DryRunAll)
		g.Expect(err).To(Satisfy(deniedByPolicy), "taking away status.%s", name)
		g.Expect(err).To(MatchError(ContainSubstring("may change status.agent only, not status." + name)))
	}

	changed := host.DeepCopy()
	changed.Status.Operation.Step = infrav1.StepProving
	g.Expect(own.Status().Update(ctx, changed)).To(MatchError(ContainSubstring("not status.operation")))

	changed = host.DeepCopy()
	changed.Status.Agent = &infrav1.AgentStatus{Version: "v2", BootID: "b"}
	g.Expect(own.Status().Update(ctx, changed)).To(Succeed())
	changed.Status.Agent = nil
	g.Expect(own.Status().Update(ctx, changed)).To(Succeed())
}

func TestAgentAppliesItsPartToAHostWithoutStatus(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "h-"}}
	g.Expect(admin.Create(ctx, host)).To(Succeed())
	own := agent(t, "a", host.Name)
	changed := host.DeepCopy()
	changed.Status.Agent = &infrav1.AgentStatus{Version: "v1"}
	g.Expect(own.Status().Patch(ctx, changed, client.MergeFrom(host))).To(Succeed())
}

func TestAgentTouchesNothingElse(t *testing.T) {
	ctx := context.Background()
	own, neighbour, namesake := newHost(t, "a"), newHost(t, "a"), newHost(t, "b")
	c := agent(t, "a", own.Name)
	agentOnly := func(host *infrav1.RepaveHost) error {
		changed := host.DeepCopy()
		changed.Status.Agent = &infrav1.AgentStatus{Version: "intruder"}
		return c.Status().Update(ctx, changed)
	}
	awaitPolicy(t, func() error { return agentOnly(neighbour) })
	for name, act := range map[string]func() error{
		"the status of a neighbour":      func() error { return agentOnly(neighbour) },
		"the status of a host elsewhere": func() error { return agentOnly(namesake) },
		"its own spec":                   func() error { return c.Patch(ctx, own.DeepCopy(), merge(`{"spec":{"online":false}}`)) },
		"its own annotations":            func() error { return c.Patch(ctx, own.DeepCopy(), merge(`{"metadata":{"annotations":{"a":"b"}}}`)) },
		"deleting its own host":          func() error { return c.Delete(ctx, own.DeepCopy()) },
		"creating a host": func() error {
			return c.Create(ctx, &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "new"}})
		},
		"its own phase, together with its own": func() error {
			return c.Status().Patch(ctx, own.DeepCopy(), merge(`{"status":{"phase":"Failed","agent":{"version":"v2"}}}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(act()).To(Satisfy(deniedByPolicy))
		})
	}
}

func TestOthersAreNotLimited(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	host := newHost(t, "a")
	controller := as(t, "controller", "system:authenticated")
	host.Status.Phase = infrav1.PhaseRepaving
	g.Expect(controller.Status().Update(ctx, host)).To(Succeed())
	g.Expect(controller.Create(ctx, lease("a", "anything-"+host.Name))).To(Succeed())
}

func TestAgentHoldsItsOwnLeaseOnly(t *testing.T) {
	ctx := context.Background()
	c := agent(t, "a", "lessee")
	awaitPolicy(t, func() error { return c.Create(ctx, lease("a", "repave-host-other"), client.DryRunAll) })
	for name, forbidden := range map[string]*coordinationv1.Lease{
		"of another host":            lease("a", "repave-host-other"),
		"of a namesake elsewhere":    lease("b", infrav1.LeaseName("lessee")),
		"with the bare name":         lease("a", "lessee"),
		"with a name of the server":  {ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "repave-host-"}},
		"with a name as long as one": lease("a", "repave-host-"+"lesseelessee"),
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(c.Create(ctx, forbidden)).To(Satisfy(deniedByPolicy))
		})
	}

	g := NewWithT(t)
	own := lease("a", infrav1.LeaseName("lessee"))
	g.Expect(c.Create(ctx, own)).To(Succeed())
	own.Spec.HolderIdentity = ptr.To("lessee")
	g.Expect(c.Update(ctx, own)).To(Succeed())
	stranger := agent(t, "a", "other")
	g.Expect(stranger.Update(ctx, own)).To(Satisfy(deniedByPolicy))
	g.Expect(stranger.Delete(ctx, own)).To(Satisfy(deniedByPolicy))
	g.Expect(c.Delete(ctx, own)).To(Succeed())
}

func lease(namespace, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func merge(patch string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(patch))
}
