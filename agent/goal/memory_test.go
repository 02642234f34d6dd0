// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package goal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestSeeTellsANewWishFromAnOldOne(t *testing.T) {
	staged, booted := wish(newImage, infrav1.DesiredStaged), wish(newImage, infrav1.DesiredBooted)
	other := wish("sha256:other", infrav1.DesiredStaged)
	for _, test := range []struct {
		name   string
		first  []*infrav1.HostDesired // the failure comes after these
		then   []*infrav1.HostDesired
		forgot bool
	}{
		{name: "the same wish", first: []*infrav1.HostDesired{booted}, then: []*infrav1.HostDesired{booted}},
		{name: "staging failed, then a boot is wished for the first time", first: []*infrav1.HostDesired{staged}, then: []*infrav1.HostDesired{booted}},
		{name: "the boot is taken back", first: []*infrav1.HostDesired{staged, booted}, then: []*infrav1.HostDesired{staged}},
		{name: "the boot is taken back and wished again", first: []*infrav1.HostDesired{staged, booted}, then: []*infrav1.HostDesired{staged, booted}, forgot: true},
		{name: "another image", first: []*infrav1.HostDesired{booted}, then: []*infrav1.HostDesired{other}, forgot: true},
		{name: "another image and back", first: []*infrav1.HostDesired{booted}, then: []*infrav1.HostDesired{other, booted}, forgot: true},
		{name: "released and claimed again", first: []*infrav1.HostDesired{booted}, then: []*infrav1.HostDesired{nil, booted}, forgot: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m goal.Memory
			for _, each := range test.first {
				m = m.See(each)
			}
			number := m.Wish.Number
			m = m.Begin(goal.VerbBoot, newImage, "boot-0", oldImage).Fail(infrav1.ReasonRolledBack, "m")
			if m.Failure == nil {
				t.Fatal("the failure was not remembered")
			}
			for _, each := range test.then {
				m = m.See(each)
			}
			if forgot := m.Failure == nil; forgot != test.forgot || (m.Wish.Number != number) != test.forgot {
				t.Errorf("forgot %v, wish %d after %d; want forgot %v", forgot, m.Wish.Number, number, test.forgot)
			}
		})
	}
}

func TestLostMemoryBootsNothingUntilAskedAgain(t *testing.T) {
	resolve := func(m goal.Memory, w *infrav1.HostDesired) goal.Goal {
		return goal.Resolve(goal.View{Booted: oldImage, Staged: newImage, Wish: w, Memory: m})
	}
	staged, booted := wish(newImage, infrav1.DesiredStaged), wish(newImage, infrav1.DesiredBooted)

	m := goal.Memory{Lost: true}.See(booted)
	if g := resolve(m, booted); len(g.Steps) != 0 || g.Failure == nil {
		t.Errorf("a boot on an unknown past: %+v", g)
	}
	m = m.See(booted).See(staged)
	if g := resolve(m, staged); len(g.Steps) != 0 {
		t.Errorf("steps while the boot is taken back: %+v", g)
	}
	m = m.See(booted)
	if diff := cmp.Diff([]goal.Step{goal.Boot{Digest: newImage}}, resolve(m, booted).Steps); diff != "" {
		t.Errorf("asked again (-want +got):\n%s", diff)
	}
	m = goal.Memory{Lost: true}.See(staged).See(booted)
	if diff := cmp.Diff([]goal.Step{goal.Boot{Digest: newImage}}, resolve(m, booted).Steps); diff != "" {
		t.Errorf("only staging was wished when the memory was lost (-want +got):\n%s", diff)
	}
}

func TestSettle(t *testing.T) {
	begun := func(verb goal.Verb) goal.Memory {
		return goal.Memory{}.See(wish(newImage, infrav1.DesiredBooted)).Begin(verb, newImage, "boot-1", oldImage)
	}
	for _, test := range []struct {
		name                   string
		memory                 goal.Memory
		bootID, booted, staged string
		open                   bool
		reason                 string
	}{
		{name: "not rebooted yet", memory: begun(goal.VerbBoot), bootID: "boot-1", booted: oldImage, staged: newImage, open: true},
		{name: "came up", memory: begun(goal.VerbBoot), bootID: "boot-2", booted: newImage},
		{name: "went back", memory: begun(goal.VerbBoot), bootID: "boot-2", booted: oldImage, reason: infrav1.ReasonRolledBack},
		{name: "went back, still staged", memory: begun(goal.VerbBoot), bootID: "boot-2", booted: oldImage, staged: newImage, reason: infrav1.ReasonRolledBack},
		{name: "came up with a third", memory: begun(goal.VerbBoot), bootID: "boot-2", booted: "sha256:third", reason: infrav1.ReasonBootFailed},
		{name: "rolled back as asked", memory: begun(goal.VerbRollBack), bootID: "boot-2", booted: newImage},
		{name: "staging was cut off", memory: begun(goal.VerbStage), bootID: "boot-1", booted: oldImage, open: true},
		{name: "staging was cut off by a reboot", memory: begun(goal.VerbStage), bootID: "boot-2", booted: oldImage, open: true},
		{name: "staged before it could be noted", memory: begun(goal.VerbStage), bootID: "boot-1", booted: oldImage, staged: newImage},
		{name: "nothing begun", memory: goal.Memory{}, bootID: "boot-2", booted: oldImage},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := test.memory.Settle(test.bootID, test.booted, test.staged)
			var reason string
			if m.Failure != nil {
				reason = m.Failure.Reason
			}
			if open := m.Act != nil; open != test.open || reason != test.reason {
				t.Errorf("open %v, reason %q; want %v, %q", open, reason, test.open, test.reason)
			}
			if m.Reached != (test.booted == newImage) {
				t.Errorf("reached %v with %s", m.Reached, test.booted)
			}
		})
	}
}

func TestOutcomeOfAnEarlierWishIsDropped(t *testing.T) {
	m := goal.Memory{}.See(wish(newImage, infrav1.DesiredBooted)).Begin(goal.VerbStage, newImage, "boot-0", oldImage)
	m = m.See(wish("sha256:other", infrav1.DesiredStaged)).Fail(infrav1.ReasonImageNotFound, "m")
	if m.Failure != nil {
		t.Errorf("got %+v for an image that nobody wishes for", m.Failure)
	}
	m = m.See(wish(newImage, infrav1.DesiredBooted)).Begin(goal.VerbBoot, newImage, "boot-0", oldImage)
	if m = m.See(wish(newImage, infrav1.DesiredStaged)); m.Act != nil {
		t.Error("a boot that was taken back before it happened keeps the host Rebooting")
	}
}

func TestMessagesFitTheAPI(t *testing.T) {
	m := goal.Memory{}.See(wish(newImage, infrav1.DesiredStaged)).Begin(goal.VerbStage, newImage, "b", oldImage)
	m = m.Fail(infrav1.ReasonImagePullFailed, strings.Repeat("é", 2000))
	if got := m.Failure.Message; len(got) > 1024 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
}

// TestNoImageIsBootedTwiceUnderOneWish lets wishes come and go over a host whose boots always fail.
func TestNoImageIsBootedTwiceUnderOneWish(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wishes := []*infrav1.HostDesired{nil, wish("sha256:a", infrav1.DesiredStaged), wish("sha256:a", infrav1.DesiredBooted), wish("sha256:b", infrav1.DesiredStaged), wish("sha256:b", infrav1.DesiredBooted)}
		var m goal.Memory
		boot := 'a'
		tried := map[int64]int{}
		for range rapid.IntRange(1, 60).Draw(t, "turns") {
			w := rapid.SampledFrom(wishes).Draw(t, "wish")
			m = m.Settle(string(boot), oldImage, "").See(w)
			staged := ""
			if w != nil {
				staged = w.Image.Digest()
			}
			for _, s := range goal.Resolve(goal.View{Booted: oldImage, Staged: staged, Wish: w, Memory: m}).Steps {
				b, ok := s.(goal.Boot)
				if !ok {
					continue
				}
				if w.State != infrav1.DesiredBooted || b.Digest != w.Image.Digest() {
					t.Fatalf("booted %s, wished %+v", b.Digest, w)
				}
				if tried[m.Wish.Number]++; tried[m.Wish.Number] > 1 {
					t.Fatalf("booted twice under wish %d", m.Wish.Number)
				}
				m = m.Begin(goal.VerbBoot, b.Digest, string(boot), oldImage)
				boot++
			}
		}
	})
}
