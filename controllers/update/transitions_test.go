// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// allSteps are the stretches of the way.
var allSteps = []infrav1.UpdateStep{
	infrav1.UpdateUpToDate, infrav1.UpdateStaging, infrav1.UpdateStaged, infrav1.UpdateDraining, infrav1.UpdateBooting,
	infrav1.UpdateVerifying, infrav1.UpdateUncordoning, infrav1.UpdateFailed, infrav1.UpdateRolledBack,
}

// everyView calls visit with every combination of facts that Next can tell apart.
func everyView(visit func(View)) {
	hosts := everyHost()
	nodes := everyNode()
	updates := []*infrav1.MachineUpdate{nil}
	for _, step := range allSteps {
		for _, bootID := range []string{"", "before"} {
			for _, age := range []time.Duration{0, time.Hour} {
				updates = append(updates, &infrav1.MachineUpdate{
					Digest: wanted, Step: step, BootID: bootID, StepAt: metav1.NewTime(now.Add(-age)), Message: "saved",
				})
			}
		}
	}
	for _, update := range updates {
		for _, slot := range []string{"", wanted} {
			for _, drain := range []DrainState{DrainNone, DrainRunning, DrainBlocked, DrainDone} {
				for _, host := range hosts {
					for _, node := range nodes {
						visit(View{
							Now: now, Limits: DefaultLimits(), Wanted: wanted, Slot: slot, Update: update,
							Host: host, Node: node, Drain: DrainFacts{State: drain},
						})
					}
				}
			}
		}
	}
}

func everyHost() []HostFacts {
	var hosts []HostFacts
	for _, connected := range []bool{false, true} {
		for _, booted := range []string{old, wanted} {
			for _, staged := range []string{"", wanted} {
				for _, bootID := range []string{"before", "after"} {
					for _, failure := range []infrav1.AgentFailure{
						{}, {Digest: wanted, Stage: infrav1.FailedStage}, {Digest: wanted, Stage: infrav1.FailedBoot},
					} {
						for _, desired := range []SetDesired{
							{}, {old, infrav1.DesiredBooted}, {wanted, infrav1.DesiredStaged}, {wanted, infrav1.DesiredBooted},
						} {
							for _, operation := range []bool{false, true} {
								hosts = append(hosts, HostFacts{
									Connected: connected, Booted: booted, Staged: staged, BootID: bootID, Failure: failure,
									Desired: desired.Digest, State: desired.State, Operation: operation,
								})
							}
						}
					}
				}
			}
		}
	}
	return hosts
}

func everyNode() []NodeFacts {
	nodes := []NodeFacts{{Unreachable: true}, {}}
	for _, ready := range []bool{false, true} {
		for _, bootID := range []string{"before", "after"} {
			for _, cordon := range []NodeFacts{{}, {Unschedulable: true}, {Unschedulable: true, Cordoned: true}} {
				cordon.Found, cordon.Ready, cordon.BootID = true, ready, bootID
				nodes = append(nodes, cordon)
			}
		}
	}
	return nodes
}

// TestEveryView walks all facts: the ways taken are exactly those of the table, every Step says why, and the host is asked to
// boot only when it is safe.
func TestEveryView(t *testing.T) {
	taken := map[string]bool{}
	everyView(func(v View) {
		step := Next(v)
		from := infrav1.UpdateStep("")
		if v.Update != nil {
			from = v.Update.Step
		}
		if from != step.Update.Step {
			taken[string(from)+" to "+string(step.Update.Step)] = true
		}
		if step.Reason == "" || step.Message == "" && step.Reason != infrav1.ReasonDrainBlocked || step.Effect == nil {
			t.Fatalf("a step without reason or effect: %+v from %+v", step, v)
		}
		checkBootWish(t, v, step)
		if (step.Effect == Uncordon{}) && !v.Node.Cordoned {
			t.Fatalf("uncordoning a Node that this machine did not cordon: %+v", v)
		}
		if (step.Effect == Cordon{}) && (v.Node.Unschedulable || v.Slot != wanted) {
			t.Fatalf("cordoning a Node that is cordoned, or without a slot: %+v", v)
		}
	})
	var want []string
	for _, transition := range Transitions {
		want = append(want, string(transition.From)+" to "+string(transition.To))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(taken))); diff != "" {
		t.Errorf("transitions (-table +taken):\n%s", diff)
	}
}

// checkBootWish fails when a boot is asked for on a host that is not ready to lose its pods.
func checkBootWish(t *testing.T, v View, step Step) {
	t.Helper()
	wish, ok := step.Effect.(SetDesired)
	if !ok || wish.State != infrav1.DesiredBooted {
		return
	}
	if step.Update.Step != infrav1.UpdateBooting || !step.Hold || step.Again <= 0 {
		t.Fatalf("a boot wish without an intent and a deadline: %+v", step)
	}
	resumed := v.Update != nil && v.Update.Step == infrav1.UpdateBooting
	drained := !v.Node.Found && !v.Node.Unreachable || v.Node.Unschedulable && v.Drain.State == DrainDone
	if !resumed && (v.Slot != wanted || !drained || !v.Host.Connected || v.Host.Operation) {
		t.Fatalf("a boot wish without slot, drain or agent: %+v", v)
	}
}

func TestDiagram(t *testing.T) {
	diagram := Diagram()
	for _, step := range allSteps {
		if !strings.Contains(diagram, "--> "+string(step)+":") {
			t.Errorf("no way leads to %s:\n%s", step, diagram)
		}
	}
	if !strings.HasPrefix(diagram, "stateDiagram-v2\n    [*] --> Staging: ") {
		t.Errorf("the diagram does not begin at the beginning:\n%s", diagram)
	}
}
