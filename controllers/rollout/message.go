// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// named is how many members a message names before it only counts: enough to know where to look, short enough for a table.
const named = 3

// steps are the words for members on their way, in the order in which a message lists them.
var steps = []string{
	"joining", "waiting for a repave by counter", "waiting to stage", "staging", "staged", "draining", "booting", "verifying",
	"uncordoning", "paused", "failed", "rolled back",
}

// crowds are the steps at which no member has to be looked at by itself, so that none is named.
var crowds = map[string]bool{"waiting to stage": true, "staging": true, "staged": true}

// word says where a member is on its way to the digest; "" where it has arrived.
func (m *Member) word(digest string) string {
	switch {
	case m.upToDate(digest):
		return ""
	case !m.Provisioned:
		return "joining"
	case m.Paused:
		return "paused"
	case m.ByRepave:
		return "waiting for a repave by counter"
	case m.Aim != digest && !m.disrupted(digest):
		return "waiting to stage"
	}
	if word := stepWords[m.Step]; word != "" {
		return word
	}
	return "waiting to stage"
}

// stepWords are the steps as messages name them; a member at the other steps has arrived or not begun.
var stepWords = map[infrav1.UpdateStep]string{
	infrav1.UpdateStaging:     "staging",
	infrav1.UpdateStaged:      "staged",
	infrav1.UpdateDraining:    "draining",
	infrav1.UpdateBooting:     "booting",
	infrav1.UpdateVerifying:   "verifying",
	infrav1.UpdateUncordoning: "uncordoning",
	infrav1.UpdateFailed:      "failed",
	infrav1.UpdateRolledBack:  "rolled back",
}

// message tells people how far the rollout is and what it waits for.
func (s *state) message(step Step) string {
	text := fmt.Sprintf("%d/%d updated", s.counts.UpToDate, s.Replicas)
	if progress := s.progress(); progress != "" {
		text += "; " + progress
	}
	switch step.Reason {
	case infrav1.ReasonHalted:
		text += fmt.Sprintf("; halted: %d failed, maxFailed is %d: change the image or delete the failed machines", s.failed, s.limit)
	case infrav1.ReasonRolloutPaused:
		text += "; paused: no new slots"
	case infrav1.ReasonRolloutInProgress:
		text += s.waiting(step.Grant)
	}
	return text
}

// progress counts the members at each step.
func (s *state) progress() string {
	counts, at := map[string]int{}, map[string][]string{}
	for _, m := range s.stay {
		word := m.word(s.Digest)
		counts[word]++
		if word != "" && !crowds[word] {
			at[word] = append(at[word], m.called())
		}
	}
	var parts []string
	for _, word := range steps {
		switch members := at[word]; {
		case counts[word] == 0:
		case crowds[word]:
			parts = append(parts, fmt.Sprintf("%d %s", counts[word], word))
		default:
			slices.Sort(members)
			parts = append(parts, fmt.Sprintf("%d %s (%s)", counts[word], word, abbreviate(members)))
		}
	}
	if s.missing > 0 {
		parts = append(parts, fmt.Sprintf("%d missing", s.missing))
	}
	if s.leaving > 0 {
		parts = append(parts, fmt.Sprintf("%d to be deleted once Cluster API has adopted them", s.leaving))
	}
	return strings.Join(parts, ", ")
}

// waiting says how many staged members wait for a slot, and for whom they wait.
func (s *state) waiting(granted []string) string {
	waiting := -len(granted)
	var busy, start []*Member
	for _, m := range s.stay {
		if m.staged(s.Digest) {
			waiting++
		}
		switch _, starts := slices.BinarySearch(granted, m.Name); {
		case starts:
			start = append(start, m)
		case m.unavailable(s.Digest):
			busy = append(busy, m)
		}
	}
	if waiting <= 0 {
		return ""
	}
	byCall := func(a, b *Member) int { return cmp.Compare(a.called(), b.called()) }
	slices.SortFunc(busy, byCall)
	slices.SortFunc(start, byCall)
	var why []string
	for _, m := range busy {
		why = append(why, m.called()+" "+m.trouble(s.Digest))
		if len(why) == named && len(busy) > named {
			why = append(why, fmt.Sprintf("%d more", len(busy)-named))
			break
		}
	}
	for _, m := range start[:min(named, len(start))] {
		why = append(why, m.called()+" starts")
	}
	if s.missing > 0 {
		why = append(why, fmt.Sprintf("%d missing", s.missing))
	}
	spent := s.counts.Unavailable + s.costing(granted)
	return fmt.Sprintf("; waiting: %d for a slot (%d/%d unavailable: %s)", waiting, spent, s.allowed, strings.Join(why, ", "))
}

// costing counts those of the granted that serve now and soon will not.
func (s *state) costing(granted []string) int {
	serving := 0
	for _, m := range s.stay {
		if _, found := slices.BinarySearch(granted, m.Name); found && !m.unavailable(s.Digest) {
			serving++
		}
	}
	return serving
}

// trouble says why a member is unavailable.
func (m *Member) trouble(digest string) string {
	if !m.Provisioned {
		return "joining"
	}
	switch m.Step {
	case infrav1.UpdateStaging, infrav1.UpdateStaged, infrav1.UpdateUpToDate, "":
		if m.disrupted(digest) {
			return "starts"
		}
		return "down"
	}
	return stepWords[m.Step]
}

// abbreviate names a few and counts the rest.
func abbreviate(sorted []string) string {
	if len(sorted) <= named {
		return strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(sorted[:named], ", "), len(sorted)-named)
}
