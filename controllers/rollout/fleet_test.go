// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// unit is one simulated machine: what is stored of it, and what it is really like.
type unit struct {
	Member
	spec string // digest that its spec names
	dead bool   // taken down by nature
	bad  map[string]bool
}

// fleet is a pool with its machines, changed by the pool, by the machines' own controllers and by nature.
type fleet struct {
	view   View
	units  map[string]*unit
	born   int
	cached []Member // what a stale cache shows
}

// members is a snapshot.
func (f *fleet) members() []Member {
	var out []Member
	for _, u := range f.units {
		m := u.Member
		m.Aligned = u.spec == f.view.Digest
		out = append(out, m)
	}
	return out // in the random order of the map: Plan must not care
}

func (f *fleet) names() []string {
	var out []string
	for name := range f.units {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// pool does what the shell does: decide on the cache, but grant, create and delete only what a fresh look asks for as well.
func (f *fleet) pool(t *rapid.T) Step {
	view := f.view
	view.Members = f.cached
	step := Plan(view)
	if len(step.Grant)+step.Create+len(step.Delete) > 0 {
		view.Members = f.members()
		step = Plan(view)
		f.check(t, view, step)
	}
	for _, name := range step.Align {
		if u := f.units[name]; u != nil {
			u.spec = f.view.Digest
		}
	}
	for _, name := range step.TakeBack {
		if u := f.units[name]; u != nil && u.slotDone(f.view.Digest) {
			u.Slot = ""
		}
	}
	for _, name := range step.Grant {
		f.units[name].Slot = f.view.Digest
	}
	for range step.Create {
		f.add()
	}
	for _, name := range step.Delete {
		delete(f.units, name)
	}
	return step
}

// check is the promise: a grant that costs something never brings the pool above its budget, those that are down for whatever
// reason included; and there are never more or fewer members than wanted.
func (f *fleet) check(t *rapid.T, view View, step Step) {
	unavailable, costing := max(view.Replicas-len(view.Members), 0), 0
	for i := range view.Members {
		m := &view.Members[i]
		granted := slices.Contains(step.Grant, m.Name)
		serving := m.Available && !m.disrupted(view.Digest)
		switch {
		case slices.Contains(step.Delete, m.Name):
		case granted && serving:
			costing++
		case !serving:
			unavailable++
		}
		if granted && (m.Step != infrav1.UpdateStaged || m.Aim != view.Digest || m.Slot != "") {
			t.Fatalf("a slot for %+v", *m)
		}
	}
	if allowed := budget(view.Rollout.MaxUnavailable, view.Replicas); costing > 0 && unavailable+costing > allowed {
		t.Fatalf("%d granted with %d unavailable, %d allowed", costing, unavailable, allowed)
	}
	if len(view.Members)+step.Create-len(step.Delete) != view.Replicas {
		t.Fatalf("%d members, %d created, %d deleted, %d wanted", len(view.Members), step.Create, len(step.Delete), view.Replicas)
	}
}

func (f *fleet) add() {
	f.born++
	name := fmt.Sprintf("m%03d", f.born)
	f.units[name] = &unit{Member: Member{Name: name, HasOwner: true}, spec: f.view.Digest, bad: map[string]bool{}}
}

// live moves one machine by one step, as its controller would.
func (u *unit) live() {
	if !u.Provisioned {
		u.Provisioned, u.Booted, u.Aim, u.Step = true, u.spec, u.spec, infrav1.UpdateUpToDate
		u.Available = !u.dead
		return
	}
	if u.Aim != u.spec && u.Step != infrav1.UpdateBooting {
		u.Aim, u.Step = u.spec, infrav1.UpdateStaging
		if u.Booted == u.spec {
			u.Step = infrav1.UpdateUncordoning
		}
		return
	}
	u.advance()
	u.Available = !u.dead && u.Step != infrav1.UpdateDraining && u.Step != infrav1.UpdateBooting && u.Step != infrav1.UpdateVerifying
}

func (u *unit) advance() {
	switch u.Step {
	case infrav1.UpdateStaging:
		u.Step = infrav1.UpdateStaged
	case infrav1.UpdateStaged:
		if u.Slot == u.spec {
			u.Step = infrav1.UpdateDraining
		}
	case infrav1.UpdateDraining:
		u.Step = infrav1.UpdateBooting
	case infrav1.UpdateBooting:
		u.Step = infrav1.UpdateRolledBack
		if !u.bad[u.Aim] {
			u.Step, u.Booted = infrav1.UpdateVerifying, u.Aim
		}
	case infrav1.UpdateVerifying:
		u.Step = infrav1.UpdateUncordoning
	case infrav1.UpdateUncordoning:
		u.Step = infrav1.UpdateUpToDate
	}
}

// newFleet draws a pool and its budget.
func newFleet(t *rapid.T) *fleet {
	number := func(label string) intstr.IntOrString {
		if rapid.Bool().Draw(t, label+" in percent") {
			return intstr.FromString(fmt.Sprintf("%d%%", rapid.IntRange(1, 100).Draw(t, label)))
		}
		return intstr.FromInt32(rapid.Int32Range(1, 5).Draw(t, label))
	}
	f := &fleet{units: map[string]*unit{}, view: View{
		Replicas: rapid.IntRange(0, 8).Draw(t, "replicas"), Digest: "sha256:0",
		Rollout: rollout(number("maxUnavailable"), number("maxFailed")),
	}}
	f.cached = f.members()
	return f
}

// disturb is what people, nature and time do to a fleet.
func (f *fleet) disturb(t *rapid.T, round int) {
	all := f.names()
	switch act := rapid.IntRange(0, 9).Draw(t, "act"); {
	case act <= 4 && len(all) > 0:
		f.units[rapid.SampledFrom(all).Draw(t, "lives")].live()
	case act == 5 && len(all) > 0:
		u := f.units[rapid.SampledFrom(all).Draw(t, "dies or comes back")]
		u.dead = !u.dead
		u.Available = u.Provisioned && !u.dead && !u.disrupted(u.Slot)
	case act == 6:
		if rapid.IntRange(0, 3).Draw(t, "image?") == 0 {
			f.view.Digest = fmt.Sprintf("sha256:%d", round)
		}
	case act == 7 && len(all) > 0:
		f.units[rapid.SampledFrom(all).Draw(t, "refuses")].bad[f.view.Digest] = true
	case act == 8:
		f.view.Rollout.Paused = rapid.Bool().Draw(t, "paused")
		if rapid.IntRange(0, 3).Draw(t, "scale?") == 0 {
			f.view.Replicas = rapid.IntRange(0, 8).Draw(t, "replicas")
		}
	case act == 9:
		f.cached = f.members()
	}
}

// TestBudgetHolds lets a pool act on caches of any age while its machines live, die and refuse images, and people change their
// minds: no grant ever exceeds the budget. Left alone, every fleet then comes to rest, and says why if not all are updated.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(t)
		for round := range rapid.IntRange(0, 150).Draw(t, "rounds") {
			f.disturb(t, round+1)
			f.pool(t)
		}
		f.settle(t)
	})
}

// settle lets everything run undisturbed and asks how it ended.
func (f *fleet) settle(t *rapid.T) {
	var step Step
	for range 40 * (len(f.units) + f.view.Replicas + 1) {
		f.cached = f.members()
		step = f.pool(t)
		for _, name := range f.names() {
			f.units[name].live()
		}
	}
	f.cached = f.members()
	step = f.pool(t)
	if len(step.Align)+len(step.Grant)+len(step.TakeBack)+step.Create+len(step.Delete) > 0 {
		t.Fatalf("still busy in the end: %+v", step)
	}
	staged := slices.ContainsFunc(f.cached, func(m Member) bool { return m.staged(f.view.Digest) })
	switch step.Reason {
	case infrav1.ReasonAllUpdated, infrav1.ReasonRolloutPaused, infrav1.ReasonHalted:
	default: // only the dead may be waited for, and they are named
		if !staged || step.Counts.Unavailable < budget(f.view.Rollout.MaxUnavailable, f.view.Replicas) {
			t.Fatalf("waits without a cause: %s: %s", step.Reason, step.Message)
		}
	}
}
