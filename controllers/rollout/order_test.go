// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// TestOrderDoesNotMatter: the same members in another order give the same Step, and asking does not change the View.
func TestOrderDoesNotMatter(t *testing.T) {
	steps := []infrav1.UpdateStep{
		"", infrav1.UpdateUpToDate, infrav1.UpdateStaging, infrav1.UpdateStaged, infrav1.UpdateDraining, infrav1.UpdateBooting,
		infrav1.UpdateVerifying, infrav1.UpdateUncordoning, infrav1.UpdateFailed, infrav1.UpdateRolledBack,
	}
	digests := rapid.SampledFrom([]string{"", older, wanted})
	rapid.Check(t, func(t *rapid.T) {
		view := View{Replicas: rapid.IntRange(0, 12).Draw(t, "replicas"), Digest: wanted, Rollout: rollout(intstr.FromInt32(3), intstr.FromInt32(2))}
		for i := range rapid.IntRange(0, 12).Draw(t, "members") {
			yes := func(label string) bool { return rapid.Bool().Draw(t, label) }
			view.Members = append(view.Members, Member{
				Name: fmt.Sprintf("m%02d", i), Created: epoch.AddDate(0, 0, rapid.IntRange(0, 2).Draw(t, "age")),
				Deleting: yes("deleting"), HasOwner: yes("owned"), DeleteFirst: yes("first"), Aligned: yes("aligned"),
				Provisioned: yes("provisioned"), Available: yes("available"), Booted: digests.Draw(t, "booted"),
				Slot: digests.Draw(t, "slot"), Aim: digests.Draw(t, "aim"), Step: rapid.SampledFrom(steps).Draw(t, "step"),
			})
		}
		before := append([]Member(nil), view.Members...)
		forth := Plan(view)
		if diff := cmp.Diff(before, view.Members); diff != "" {
			t.Fatalf("the View was changed:\n%s", diff)
		}
		view.Members = rapid.Permutation(before).Draw(t, "order")
		if diff := cmp.Diff(forth, Plan(view)); diff != "" {
			t.Fatalf("another order, another Step:\n%s", diff)
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	for _, size := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			view := View{Replicas: size, Digest: wanted, Rollout: rollout(intstr.FromString("10%"), intstr.FromString("5%"))}
			states := []infrav1.UpdateStep{infrav1.UpdateUpToDate, infrav1.UpdateStaging, infrav1.UpdateStaged, infrav1.UpdateRolledBack}
			for i := range size {
				view.Members = append(view.Members, member(fmt.Sprintf("pool-%05d", i), at(states[i%40%len(states)])))
				if i%40 != 3 && view.Members[i].Step == infrav1.UpdateRolledBack {
					view.Members[i].Step = infrav1.UpdateStaged
				}
			}
			random := rand.New(rand.NewPCG(1, 2))
			random.Shuffle(size, func(i, j int) { view.Members[i], view.Members[j] = view.Members[j], view.Members[i] })
			for b.Loop() {
				Plan(view)
			}
		})
	}
}
