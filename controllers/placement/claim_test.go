// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// record is a stored host: what a compare-and-swap compares and what it swaps.
type record struct {
	version  int
	claimant string
}

// claimant is one machine that claims: what is stored of it and what it has decided on but not yet written.
type claimant struct {
	name    string
	version int
	saved   string

	view     []Host
	versions map[string]int
	seen     int
	decision *Decision
	old      string
}

// world is the store and the machines that act on it.
type world struct {
	hosts    map[string]*record
	machines []*claimant
}

// look takes a snapshot for a machine. It acts on it later, perhaps much later.
func (w *world) look(m *claimant) {
	m.view, m.versions, m.seen, m.old, m.decision = nil, map[string]int{}, m.version, m.saved, nil
	for name, host := range w.hosts {
		m.view = append(m.view, Host{Name: name, Claimant: host.claimant, Available: true})
		m.versions[name] = host.version
	}
}

// decide asks Choose about the snapshot.
func (w *world) decide(m *claimant) {
	if m.view == nil {
		return
	}
	decision := Choose(View{Machine: m.name, Saved: m.old, Hosts: m.view})
	m.decision = &decision
}

// act writes what was decided, as the Machine controller does.
func (w *world) act(m *claimant) {
	if m.decision == nil {
		return
	}
	decision := *m.decision
	m.decision = nil
	switch decision.Verdict {
	case Save:
		w.save(m, decision.Host)
	case Withdraw:
		if live := w.hosts[decision.Host]; live.claimant != m.name {
			w.save(m, "")
		}
	case Claim:
		host := w.hosts[decision.Host]
		if host.version == m.versions[decision.Host] {
			host.version, host.claimant = host.version+1, m.name
		}
	case Claimed, Wait:
	}
}

// save writes the choice of a machine with its optimistic lock.
func (w *world) save(m *claimant, host string) {
	if m.version == m.seen {
		m.version, m.saved = m.version+1, host
	}
}

// TestNeverTwo lets machines look, decide and write in any order on snapshots of any age: a host never serves two machines
// and a machine never holds two hosts.
func TestNeverTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{hosts: map[string]*record{}}
		for i := range rapid.IntRange(1, 5).Draw(t, "hosts") {
			w.hosts[fmt.Sprintf("h%d", i)] = &record{}
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "machines") {
			w.machines = append(w.machines, &claimant{name: fmt.Sprintf("m%d", i)})
		}
		acts := []func(*claimant){w.look, w.decide, w.act}
		owner := map[string]string{}
		for range rapid.IntRange(1, 200).Draw(t, "length") {
			m := w.machines[rapid.IntRange(0, len(w.machines)-1).Draw(t, "machine")]
			acts[rapid.IntRange(0, len(acts)-1).Draw(t, "act")](m)
			held := map[string]string{}
			for name, host := range w.hosts {
				if owner[name] != "" && owner[name] != host.claimant {
					t.Fatalf("host %s went from %s to %s without a release", name, owner[name], host.claimant)
				}
				owner[name] = host.claimant
				if host.claimant == "" {
					continue
				}
				if other := held[host.claimant]; other != "" {
					t.Fatalf("machine %s holds %s and %s", host.claimant, other, name)
				}
				held[host.claimant] = name
			}
		}
		w.settle(t)
	})
}

// settle lets every machine act on fresh snapshots: in the end as many hosts are claimed as can be.
func (w *world) settle(t *rapid.T) {
	for range 4 * (len(w.hosts) + 1) {
		for _, m := range w.machines {
			w.look(m)
			w.decide(m)
			w.act(m)
		}
	}
	claimed := 0
	for _, host := range w.hosts {
		if host.claimant != "" {
			claimed++
		}
	}
	if want := min(len(w.hosts), len(w.machines)); claimed != want {
		t.Fatalf("%d hosts claimed in the end, want %d", claimed, want)
	}
}
