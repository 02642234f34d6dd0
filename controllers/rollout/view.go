// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// View is what was seen of a pool.
type View struct {
	Replicas int             // wanted members
	Digest   string          // wanted digest of every member
	Rollout  infrav1.Rollout // the budget and the brakes; absent numbers are 1
	Members  []Member        // in any order, names unique
}

// Member is what was seen of one machine of the pool.
type Member struct {
	Name        string
	Host        string // that serves it; "" for none yet
	Created     time.Time
	Deleting    bool               // the machine or its owner is on its way out
	HasOwner    bool               // the Machine of Cluster API exists: only through it is a member deleted
	DeleteFirst bool               // somebody asked for this one to go when one has to go
	Paused      bool               // its controller does nothing for it
	ByRepave    bool               // it names no in-place image: only a repave brings it to another
	Aligned     bool               // its spec is that of the template
	Provisioned bool               // it has been there once
	Available   bool               // it serves: provisioned, Node ready and not cordoned
	Booted      string             // digest that runs
	Slot        string             // digest for which a slot is granted; "" without a slot
	Step        infrav1.UpdateStep // how far it is on its way to Aim; "" before the first step
	Aim         string             // digest that Step speaks of
}

// Step is what is to be done now, and what to say about it. All lists are sorted by name but Delete, which is by preference.
type Step struct {
	Align    []string // bring the spec to the template: disturbs nobody
	Grant    []string // give a slot for the wanted digest
	TakeBack []string // remove the slot: used up, or for another digest
	Create   int      // make so many members
	Delete   []string // delete the owners of these members
	Counts   Counts
	Reason   string // one of the reasons of a pool's UpToDate: AllUpdated, RolloutInProgress, Paused, Halted
	Message  string // for people, without times: equal views give equal messages
}

// Counts are the numbers of a pool's status.
type Counts struct {
	Replicas    int // members that exist, those being deleted included
	Ready       int // serve
	UpToDate    int // run the wanted digest, proven
	Updating    int // on their way to it
	Degraded    int // failed it, or were there and are down
	Unavailable int // count against the budget: down for whatever reason, in a slot, or missing
}

// called is what messages call the member: its host, by which people know it, or its own name while it has none.
func (m *Member) called() string { return cmp.Or(m.Host, m.Name) }

// upToDate says whether the member runs the digest, proven. One that has an aim says so itself: what it runs may be what it is just
// leaving for another image.
func (m *Member) upToDate(digest string) bool {
	if m.Aim != "" {
		return m.Aim == digest && m.Step == infrav1.UpdateUpToDate
	}
	return m.Provisioned && m.Booted == digest
}

// failed says whether the member tried the digest in vain. A failure of another digest says nothing about this one.
func (m *Member) failed(digest string) bool {
	return m.Aim == digest && (m.Step == infrav1.UpdateFailed || m.Step == infrav1.UpdateRolledBack)
}

// slotDone says whether the slot has served its purpose: its outcome is known, or it is for a digest nobody wants any more.
func (m *Member) slotDone(digest string) bool {
	return m.Slot != "" && (m.Slot != digest || m.upToDate(digest) || m.failed(digest))
}

// disrupted says whether a slot is in use, or was a moment ago: a member whose slot was just taken away in the middle may still be
// about to go down even though the View shows it available. Verifying and uncordoning are not among these steps: there the member
// has been down already, so that its being available says what it seems to say.
func (m *Member) disrupted(digest string) bool {
	if m.Step == infrav1.UpdateDraining || m.Step == infrav1.UpdateBooting {
		return true
	}
	return m.Slot != "" && (m.Slot != digest || !m.slotDone(digest))
}

// unavailable says whether the member counts against the budget.
func (m *Member) unavailable(digest string) bool { return !m.Available || m.disrupted(digest) }

// staged says whether nothing but a slot is missing.
func (m *Member) staged(digest string) bool {
	return !m.Paused && m.Slot == "" && m.Aim == digest && m.Step == infrav1.UpdateStaged
}

// budget resolves a number or percentage of total: rounded down, never below one. What cannot be read is one, the most careful.
func budget(value *intstr.IntOrString, total int) int {
	if value == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, total, false)
	if err != nil {
		return 1
	}
	return max(n, 1)
}
