// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Plan says what a pool does next.
//
// The budget counts every member that is unavailable for whatever reason, and the missing ones; a staged member that is down
// already costs nothing more and comes first. Even so there are never more slots in use than the budget has: members that only
// seem to be down (their cluster cannot be reached, a fact is late) must not all be disrupted at once. A member that failed the
// image and serves again on its old one costs nothing, but counts as failed; as many as maxFailed halt the rollout. Halted or paused, no new slots are granted and those in use finish.
// The time is linear in the members, but for sorting those that have to be named.
func Plan(v View) Step {
	s := survey(v)
	step := Step{
		Align:    names(s.stay, func(m *Member) bool { return !m.Aligned }),
		TakeBack: names(s.stay, func(m *Member) bool { return m.slotDone(v.Digest) }),
		Create:   s.missing,
		Delete:   s.victims,
		Counts:   s.counts,
		Reason:   s.reason(),
	}
	if step.Reason == infrav1.ReasonRolloutInProgress {
		step.Grant = s.grant()
	}
	step.Message = s.message(step)
	return step
}

// state is a View that has been gone through once.
type state struct {
	View
	stay    []*Member // neither on their way out nor chosen to go
	victims []string
	missing int // wanted members that do not exist
	leaving int // members that are to go but have no owner yet
	failed  int // failed the wanted digest
	allowed int // resolved maxUnavailable
	limit   int // resolved maxFailed
	counts  Counts
}

// survey goes through the members once.
func survey(v View) *state {
	s := &state{
		View:    v,
		allowed: budget(v.Rollout.MaxUnavailable, v.Replicas),
		limit:   budget(v.Rollout.MaxFailed, v.Replicas),
	}
	for i := range v.Members {
		if !v.Members[i].Deleting {
			s.stay = append(s.stay, &v.Members[i])
		}
	}
	s.missing = max(v.Replicas-len(s.stay), 0)
	s.shrink()
	s.count()
	return s
}

// shrink picks those that have to go. The choice does not depend on who has an owner yet: one without is waited for, not replaced
// by another victim.
func (s *state) shrink() {
	surplus := len(s.stay) - s.Replicas
	if surplus <= 0 {
		return
	}
	slices.SortFunc(s.stay, func(a, b *Member) int { return s.preference(a, b) })
	for _, m := range s.stay[:surplus] {
		if m.HasOwner {
			s.victims = append(s.victims, m.Name)
		} else {
			s.leaving++
		}
	}
	s.stay = s.stay[surplus:]
}

// preference orders members by how readily they are given up: asked for, down or failed, outdated, oldest.
func (s *state) preference(a, b *Member) int {
	return cmp.Or(
		first(a.DeleteFirst, b.DeleteFirst),
		first(!a.Available || a.failed(s.Digest), !b.Available || b.failed(s.Digest)),
		first(!a.upToDate(s.Digest), !b.upToDate(s.Digest)),
		a.Created.Compare(b.Created),
		cmp.Compare(a.Name, b.Name),
	)
}

func first(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// count makes the numbers of the status.
func (s *state) count() {
	c := Counts{Replicas: len(s.Members), Unavailable: s.missing}
	for _, m := range s.stay {
		failed := m.failed(s.Digest)
		switch {
		case failed:
			s.failed++
		case m.upToDate(s.Digest):
			c.UpToDate++
		default:
			c.Updating++
		}
		if failed || m.down(s.Digest) {
			c.Degraded++
		}
		if m.Available {
			c.Ready++
		}
		if m.unavailable(s.Digest) {
			c.Unavailable++
		}
	}
	s.counts = c
}

// down says whether the member was there once and is not now, for another reason than a slot.
func (m *Member) down(digest string) bool {
	return m.Provisioned && !m.Available && !m.disrupted(digest)
}

// reason says how the rollout stands. One that nobody can go on with is halted as well, however few failed.
func (s *state) reason() string {
	switch {
	case s.counts.UpToDate == len(s.stay) && s.missing == 0:
		return infrav1.ReasonAllUpdated
	case s.failed >= s.limit || s.failed > 0 && s.failed+s.counts.UpToDate == s.Replicas:
		return infrav1.ReasonHalted
	case s.Rollout.Paused:
		return infrav1.ReasonRolloutPaused
	}
	return infrav1.ReasonRolloutInProgress
}

// grant picks who gets a slot: the staged, those that are down already first, then by name as far as the budget goes.
func (s *state) grant() []string {
	slots := max(s.allowed-s.inUse(), 0) // that may still be granted
	down := names(s.stay, func(m *Member) bool { return m.staged(s.Digest) && m.unavailable(s.Digest) })
	var granted []string
	granted = append(granted, down[:min(slots, len(down))]...)
	if room := min(s.allowed-s.counts.Unavailable, slots-len(granted)); room > 0 {
		serving := names(s.stay, func(m *Member) bool { return m.staged(s.Digest) && !m.unavailable(s.Digest) })
		granted = append(granted, serving[:min(room, len(serving))]...)
		slices.Sort(granted)
	}
	return granted
}

// inUse counts the slots that are in use, also those of members that are on their way out.
func (s *state) inUse() int {
	n := 0
	for i := range s.Members {
		if s.Members[i].disrupted(s.Digest) {
			n++
		}
	}
	return n
}

// names gives the sorted names of the members that match.
func names(members []*Member, match func(*Member) bool) []string {
	var out []string
	for _, m := range members {
		if match(m) {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}
