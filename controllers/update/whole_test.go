// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// life is a simulated host and Node under Next: what is stored, what is physically so, and what the images do when booted.
type life struct {
	t      *rapid.T
	view   View
	bad    map[string]bool
	booted map[string]int
	boots  int
}

// act looks once: Next decides, the update is saved, then the effect is done, unless the process dies in between.
func (l *life) act(dies bool) {
	before := l.view
	step := Next(l.view)
	if step.Reason == "" {
		l.t.Fatalf("a step without a reason: %+v from %+v", step, l.view)
	}
	update := step.Update
	l.view.Update = &update
	if dies {
		l.view.Drain = DrainFacts{}
		return
	}
	switch effect := step.Effect.(type) {
	case SetDesired:
		if effect.State == infrav1.DesiredBooted && l.view.Node.Found && !(l.view.Node.Unschedulable) {
			l.t.Fatalf("booting a Node that is not cordoned: %+v", before)
		}
		l.view.Host.Desired, l.view.Host.State = effect.Digest, effect.State
	case Cordon:
		l.view.Node.Unschedulable, l.view.Node.Cordoned = true, true
	case Uncordon:
		if !l.view.Node.Cordoned {
			l.t.Fatalf("uncordoning a foreign cordon: %+v", before)
		}
		l.view.Node.Unschedulable, l.view.Node.Cordoned = false, false
	case Drain:
		l.view.Drain.State = DrainRunning
	}
	if update.Step != infrav1.UpdateDraining {
		l.view.Drain = DrainFacts{}
	}
}

// agent does what the host is asked for: it stages, or boots and, when the image is bad, comes back with the old one.
func (l *life) agent() {
	host := &l.view.Host
	if !host.Connected || host.Failure.Digest == host.Desired {
		return
	}
	host.Failure = infrav1.AgentFailure{}
	switch {
	case host.Desired == "" || host.Booted == host.Desired:
	case host.Staged != host.Desired:
		host.Staged = host.Desired
	case host.State == infrav1.DesiredBooted:
		l.boots++
		l.booted[host.Desired]++
		host.BootID = time.Duration(l.boots).String()
		if l.bad[host.Desired] {
			host.Failure = infrav1.AgentFailure{Digest: host.Desired, Stage: infrav1.FailedBoot, Message: "does not come up"}
		} else {
			host.Booted, host.Staged = host.Desired, ""
		}
		l.view.Node.Ready = false
	}
}

// kubelet reports from the running boot.
func (l *life) kubelet() {
	l.view.Node.Ready, l.view.Node.BootID = true, l.view.Host.BootID
}

// evict ends a drain.
func (l *life) evict() {
	if l.view.Drain.State == DrainRunning {
		l.view.Drain.State = DrainDone
	}
}

// fault changes one thing that nobody asked for.
func (l *life) fault() {
	switch rapid.IntRange(0, 6).Draw(l.t, "fault") {
	case 0:
		l.view.Host.Connected = !l.view.Host.Connected
	case 1:
		l.view.Now = l.view.Now.Add(20 * time.Minute)
	case 2:
		l.view.Slot = rapid.SampledFrom([]string{"", wanted, later}).Draw(l.t, "slot")
	case 3:
		l.view.Wanted = rapid.SampledFrom([]string{wanted, later}).Draw(l.t, "wish")
	case 4:
		l.view.Update = nil
	case 5:
		l.view.Drain = DrainFacts{}
	case 6:
		l.view.Host.Operation = !l.view.Host.Operation
	}
}

// TestWholeLives lets agent, kubelet, pods, people and faults act in any order. In the end, with a slot and no more faults, the
// machine rests: on the wanted image, or on the old one with the failure named; the Node is cordoned exactly when somebody else
// did it.
func TestWholeLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		foreign := rapid.Bool().Draw(t, "foreign cordon")
		l := &life{t: t, booted: map[string]int{}, bad: map[string]bool{
			wanted: rapid.Bool().Draw(t, "wanted is bad"), later: rapid.Bool().Draw(t, "later is bad"),
		}}
		l.view = View{
			Now: now, Limits: DefaultLimits(), Wanted: wanted,
			Host: HostFacts{Connected: true, Booted: old, BootID: "0s"},
			Node: NodeFacts{Found: true, Ready: true, BootID: "0s", Unschedulable: foreign},
		}
		acts := []func(){func() { l.act(false) }, func() { l.act(true) }, l.agent, l.kubelet, l.evict, l.fault}
		for range rapid.IntRange(0, 80).Draw(t, "length") {
			acts[rapid.IntRange(0, len(acts)-1).Draw(t, "act")]()
			l.view.Now = l.view.Now.Add(time.Second)
		}
		l.settle()
		l.check(foreign)
	})
}

// settle ends all faults and lets everybody act until nothing changes any more.
func (l *life) settle() {
	l.view.Host.Connected, l.view.Host.Operation, l.view.Slot = true, false, l.view.Wanted
	for range 60 {
		l.act(false)
		l.agent()
		l.kubelet()
		l.evict()
		l.view.Now = l.view.Now.Add(time.Second)
	}
}

func (l *life) check(foreign bool) {
	t, v := l.t, l.view
	if v.Node.Unschedulable != foreign || v.Node.Cordoned {
		t.Fatalf("the cordon was not given back as it was found (foreign: %v): %+v", foreign, v)
	}
	for digest, times := range l.booted {
		if l.bad[digest] && v.Wanted == digest && v.Update.Step != infrav1.UpdateRolledBack {
			t.Fatalf("%s was booted %d times and failed, but the machine is %s", digest, times, v.Update.Step)
		}
	}
	switch v.Update.Step {
	case infrav1.UpdateUpToDate:
		if v.Host.Booted != v.Wanted {
			t.Fatalf("up to date on another image: %+v", v)
		}
	case infrav1.UpdateRolledBack, infrav1.UpdateFailed:
		if v.Update.Message == "" || v.Host.State != infrav1.DesiredStaged {
			t.Fatalf("failed without a word or with a boot wish left: %+v", v)
		}
	default:
		t.Fatalf("no end in %s: %s: %+v", v.Update.Step, v.Update.Message, v)
	}
	if next := Next(v); (next.Effect != None{}) || next.Update != *v.Update {
		t.Fatalf("no rest: %+v", next)
	}
}

// TestBackToTheOldImage: a machine that failed an image and is asked for its old one again is up to date without a boot or a slot.
func TestBackToTheOldImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{t: t, booted: map[string]int{}, bad: map[string]bool{wanted: true}}
		l.view = View{
			Now: now, Limits: DefaultLimits(), Wanted: wanted,
			Host: HostFacts{Connected: true, Booted: old, BootID: "0s"},
			Node: NodeFacts{Found: true, Ready: true, BootID: "0s"},
		}
		l.settle()
		if l.view.Update.Step != infrav1.UpdateRolledBack {
			t.Fatalf("the bad image ended in %s", l.view.Update.Step)
		}
		boots := l.boots
		l.view.Wanted = old
		for range rapid.IntRange(0, 5).Draw(t, "looks before the agent's") {
			l.act(false)
		}
		for range 20 {
			l.act(false)
			l.agent()
		}
		if l.view.Update.Step != infrav1.UpdateUpToDate || l.view.Update.Digest != old || l.boots != boots {
			t.Fatalf("%d boots on the way back, and then %s: %s", l.boots-boots, l.view.Update.Step, l.view.Update.Message)
		}
		if l.view.Host.Desired != old || l.view.Host.State != infrav1.DesiredStaged {
			t.Fatalf("the host is still asked for %s, %s", l.view.Host.Desired, l.view.Host.State)
		}
	})
}
