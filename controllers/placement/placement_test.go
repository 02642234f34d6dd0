// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

// free gives an available host, changed by the options.
func free(name string, change ...func(*Host)) Host {
	host := Host{Name: name, Available: true}
	for _, c := range change {
		c(&host)
	}
	return host
}

func claimedBy(machine string) func(*Host) { return func(h *Host) { h.Claimant = machine } }

func paused(h *Host) { h.Paused = true }

func deleting(h *Host) { h.Deleting = true }

func unfit(h *Host) { h.Unfit = true }

func notReady(h *Host) { h.Available = false }

func reserved(h *Host) { h.Reserved = true }

func powered(h *Host) { h.Powered = true }

func inZone(zone string) func(*Host) {
	return func(h *Host) { h.Zone, h.Labels = zone, labels.Set{"zone": zone} }
}

func TestChoose(t *testing.T) {
	east := labels.SelectorFromSet(labels.Set{"zone": "east"})
	for _, test := range []struct {
		name string
		view View
		want Decision
	}{
		{
			name: "the first free host by name",
			view: View{Hosts: []Host{free("h3"), free("h1", claimedBy("other")), free("h2")}},
			want: Decision{Verdict: Save, Host: "h2"},
		},
		{
			name: "a running host is preferred",
			view: View{Hosts: []Host{free("h1"), free("h2", powered), free("h3", powered)}},
			want: Decision{Verdict: Save, Host: "h2"},
		},
		{
			name: "the saved choice is claimed although another would be preferred now",
			view: View{Saved: "h2", Hosts: []Host{free("h1", powered), free("h2")}},
			want: Decision{Verdict: Claim, Host: "h2"},
		},
		{
			name: "the saved choice went to another machine",
			view: View{Saved: "h2", Hosts: []Host{free("h1"), free("h2", claimedBy("other"))}},
			want: Decision{Verdict: Withdraw, Host: "h2"},
		},
		{
			name: "the saved choice is gone",
			view: View{Saved: "h2", Hosts: []Host{free("h1")}},
			want: Decision{Verdict: Withdraw, Host: "h2"},
		},
		{
			name: "the claim is found again, even on a host that is being deleted",
			view: View{Saved: "h1", Hosts: []Host{free("h1"), free("h2", claimedBy("m"), deleting)}},
			want: Decision{Verdict: Claimed, Host: "h2"},
		},
		{
			name: "of several claims the saved one counts",
			view: View{Saved: "h2", Hosts: []Host{free("h3", claimedBy("m")), free("h2", claimedBy("m")), free("h1", claimedBy("m"))}},
			want: Decision{Verdict: Claimed, Host: "h2"},
		},
		{
			name: "selector and failure domain",
			view: View{Selector: east, FailureDomain: "east", Hosts: []Host{free("h1"), free("h2", inZone("west")), free("h3", inZone("east"))}},
			want: Decision{Verdict: Save, Host: "h3"},
		},
		{
			name: "the reasons are counted",
			view: View{Hosts: []Host{
				free("h1", claimedBy("a")), free("h2", claimedBy("b")), free("h3", claimedBy("c")), free("h4", claimedBy("d")),
				free("h5", notReady), free("h6", paused), free("h7", unfit),
			}},
			want: Decision{Verdict: Wait, Message: "7 hosts match: 4 claimed, 1 unfit, 1 not ready, 1 paused"},
		},
		{
			name: "each host is counted once",
			view: View{Hosts: []Host{free("h1", claimedBy("a"), paused, deleting, notReady)}},
			want: Decision{Verdict: Wait, Message: "1 host matches: 1 being deleted"},
		},
		{
			name: "hosts that others are about to claim are passed over",
			view: View{Hosts: []Host{free("h1", reserved), free("h2", claimedBy("a"))}},
			want: Decision{Verdict: Wait, Message: "2 hosts match: 2 claimed", Contended: true},
		},
		{
			name: "nothing matches",
			view: View{Selector: east, Hosts: []Host{free("h1")}},
			want: Decision{Verdict: Wait, Message: "none of 1 hosts matches the hostSelector"},
		},
		{
			name: "nothing in the failure domain",
			view: View{FailureDomain: "east", Hosts: []Host{free("h1")}},
			want: Decision{Verdict: Wait, Message: "none of 1 matching hosts is in the failure domain east"},
		},
		{
			name: "no hosts",
			want: Decision{Verdict: Wait, Message: "the namespace has no hosts"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.view.Machine = "m"
			if diff := cmp.Diff(test.want, Choose(test.view)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			slices.Reverse(test.view.Hosts)
			if diff := cmp.Diff(test.want, Choose(test.view)); diff != "" {
				t.Errorf("decision on reversed hosts (-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		view := View{Machine: "m", Selector: labels.SelectorFromSet(labels.Set{"zone": "east"})}
		for i := range n {
			host := free(fmt.Sprintf("host-%05d", n-i), inZone("east"))
			if i > 0 {
				host.Claimant = fmt.Sprintf("machine-%05d", i)
			}
			view.Hosts = append(view.Hosts, host)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if Choose(view).Verdict != Save {
					b.Fatal("no host chosen")
				}
			}
		})
	}
}
