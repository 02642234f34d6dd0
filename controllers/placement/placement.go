// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Host is what matters of a RepaveHost for placement.
type Host struct {
	// Name of the host.
	Name string
	// Labels of the host, matched by the machine's selector.
	Labels labels.Set
	// Zone is the failure domain of the host; "" for none.
	Zone string
	// Claimant is the machine that the host serves; "" for a free host.
	Claimant string
	// Reserved: another machine of this process has set out to claim the host. A hint that saves lost races, no guarantee.
	Reserved bool
	// Deleting: the host is on its way out.
	Deleting bool
	// Paused: the host is paused, so nothing would be done to it.
	Paused bool
	// Unfit: the host can never give the machine what it wants: a netboot install needs a BMC and a root device, and a machine
	// without one needs a host whose agent reports already.
	Unfit bool
	// Available: the host can be used now.
	Available bool
	// Powered: the server runs already, so its way to the machine is likely to work.
	Powered bool
}

// Free says whether some machine could claim the host now.
func (h Host) Free() bool {
	return h.Claimant == "" && !h.Deleting && !h.Paused && !h.Unfit && h.Available
}

// View is everything that the choice depends on.
type View struct {
	// Machine is the name of the RepaveMachine.
	Machine string
	// Selector of the machine; nil matches every host.
	Selector labels.Selector
	// FailureDomain that the Machine of Cluster API demands; "" for any.
	FailureDomain string
	// Saved is the host that the machine set out to claim; "" for none.
	Saved string
	// Hosts of the namespace, in any order.
	Hosts []Host
}

// Verdict is the kind of a Decision.
type Verdict string

// The verdicts.
const (
	// Claimed: the host names the machine already.
	Claimed Verdict = "Claimed"
	// Claim: the saved choice is good, claim it.
	Claim Verdict = "Claim"
	// Save: take this host as the choice and save it.
	Save Verdict = "Save"
	// Withdraw: the saved choice cannot be claimed. It may only be dropped after a live look at that host, because a View that
	// is out of date may hide that the claim was written already.
	Withdraw Verdict = "Withdraw"
	// Wait: no host can serve the machine now; Message says why.
	Wait Verdict = "Wait"
)

// Decision is the outcome of Choose.
type Decision struct {
	// Verdict says what comes next.
	Verdict Verdict
	// Host that it is about; "" with Wait.
	Host string
	// Message says why there is no host; with Wait only.
	Message string
	// Contended: hosts were passed over only because other machines are about to claim them. One of those may give up without
	// an event, so a waiting machine looks again by itself.
	Contended bool
}

// Choose says which host a machine takes. The same View gives the same Decision, whatever the order of the hosts. A running
// server is preferred to one that is off, then the name decides. Linear in the number of hosts.
func Choose(v View) Decision {
	var claimed, saved, best *Host
	var seen tally
	for i := range v.Hosts {
		host := &v.Hosts[i]
		if host.Claimant == v.Machine && (claimed == nil || host.Name == v.Saved || (claimed.Name != v.Saved && host.Name < claimed.Name)) {
			claimed = host
		}
		fits := seen.add(v, host)
		if host.Name == v.Saved && fits {
			saved = host
		}
		if fits && !host.Reserved && better(host, best) {
			best = host
		}
	}
	switch {
	case claimed != nil:
		return Decision{Verdict: Claimed, Host: claimed.Name}
	case saved != nil:
		return Decision{Verdict: Claim, Host: saved.Name}
	case v.Saved != "":
		return Decision{Verdict: Withdraw, Host: v.Saved}
	case best != nil:
		return Decision{Verdict: Save, Host: best.Name}
	default:
		return Decision{Verdict: Wait, Message: seen.message(v), Contended: seen.reserved > 0}
	}
}

// better says whether a host is to be preferred to the best so far.
func better(host, best *Host) bool {
	if best == nil {
		return true
	}
	if host.Powered != best.Powered {
		return host.Powered
	}
	return host.Name < best.Name
}

// tally counts why hosts are passed over: each host once, for the reason that would outlast the others.
type tally struct {
	selected, zoned                                         int
	deleting, claimed, unfit, paused, unavailable, reserved int
}

// add counts a host and says whether the machine could claim it.
func (t *tally) add(v View, host *Host) bool {
	if v.Selector != nil && !v.Selector.Matches(host.Labels) {
		return false
	}
	t.selected++
	if v.FailureDomain != "" && host.Zone != v.FailureDomain {
		return false
	}
	t.zoned++
	switch {
	case host.Deleting:
		t.deleting++
	case host.Claimant != "":
		t.claimed++
	case host.Unfit:
		t.unfit++
	case host.Paused:
		t.paused++
	case !host.Available:
		t.unavailable++
	default:
		if host.Reserved {
			t.reserved++
		}
		return true
	}
	return false
}

// message says for people why no host was found.
func (t *tally) message(v View) string {
	switch {
	case len(v.Hosts) == 0:
		return "the namespace has no hosts"
	case t.selected == 0:
		return fmt.Sprintf("none of %d hosts matches the hostSelector", len(v.Hosts))
	case t.zoned == 0:
		return fmt.Sprintf("none of %d matching hosts is in the failure domain %s", t.selected, v.FailureDomain)
	}
	var why []string
	for _, count := range []struct {
		n    int
		what string
	}{
		{t.claimed + t.reserved, "claimed"}, {t.unfit, "unfit"}, {t.unavailable, "not ready"}, {t.paused, "paused"}, {t.deleting, "being deleted"},
	} {
		if count.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	noun := "hosts match"
	if t.zoned == 1 {
		noun = "host matches"
	}
	return fmt.Sprintf("%d %s: %s", t.zoned, noun, strings.Join(why, ", "))
}
