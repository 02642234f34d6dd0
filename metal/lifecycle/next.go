// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Next says what comes next for a host.
func Next(v View) Step {
	switch {
	case v.Paused:
		return paused(v)
	case v.Deleting && (v.Spec.Claim == "" || v.ForceRelease):
		return v.saying(infrav1.PhaseReleasing, infrav1.ReasonDeleting, "the host is being deleted").doing(Forget{}, 0)
	case !v.Record.Seen:
		return meet(v)
	case v.Repin && v.Record.Fingerprint != "":
		return pin(v, "")
	case !v.Repin && v.Record.Fingerprint == "" && v.BMC.Fingerprint != "":
		return pin(v, v.BMC.Fingerprint)
	case v.Deleting:
		return stillClaimed(v)
	default:
		return live(v)
	}
}

func live(v View) Step {
	switch {
	case v.Spec.Claim == "" && (v.Record.Release != nil || v.Record.Installed != "" || orphaned(v)):
		return unclaim(v)
	case v.Spec.Claim != "" && v.Spec.Desired == nil:
		return release(v)
	case v.Record.Release != nil:
		return claim(v)
	case v.Record.Operation != nil:
		return carry(v)
	default:
		return open(v)
	}
}

func paused(v View) Step {
	phase := infrav1.PhasePending
	if v.Spec.Claim != "" {
		phase = infrav1.PhaseProvisioning
		if v.Record.Installed == v.Spec.providerID() {
			phase = infrav1.PhaseReady
		}
	}
	return v.saying(phase, infrav1.ReasonPaused, "the host is paused; nothing is done to it")
}

// meet takes a host that has no record as it stands: nothing that was asked for or installed before is done again.
func meet(v View) Step {
	r := v.Record
	r.Seen, r.Acknowledged, r.Installed = true, v.Spec.Counters, v.Spec.providerID()
	return v.saying(infrav1.PhasePending, infrav1.ReasonNotRead, "the host is looked at for the first time").saving(r)
}

func pin(v View, fingerprint string) Step {
	r := v.Record
	r.Fingerprint = fingerprint
	return v.saying(infrav1.PhasePending, infrav1.ReasonNotRead, "the certificate of the BMC is being pinned").saving(r)
}

// stillClaimed goes on with what is under way, but begins nothing.
func stillClaimed(v View) Step {
	v.Spec.Counters = v.Record.Acknowledged
	if v.Spec.Desired != nil && v.Record.Operation == nil {
		return v.saying(infrav1.PhaseReleasing, infrav1.ReasonStillClaimed, stillClaimedBy(v))
	}
	s := live(v)
	s.Ready, s.Reason, s.Message = false, infrav1.ReasonStillClaimed, stillClaimedBy(v)+"; "+s.Message
	return s
}

func stillClaimedBy(v View) string {
	return fmt.Sprintf("the host serves RepaveMachine %s; delete that first", v.Spec.Claim)
}

// orphaned: the open operation was the first install of a claim that is gone.
func orphaned(v View) bool {
	return v.Record.Operation != nil && v.Record.Operation.Counter == 0
}

// unclaim forgets what belonged to a claim that is gone.
func unclaim(v View) Step {
	r := v.Record
	r.Release, r.Installed = nil, ""
	if orphaned(v) {
		r = v.cancelled(r)
	}
	return v.saying(infrav1.PhasePending, infrav1.ReasonUnclaimed, "no machine has claimed the host").saving(r)
}

// claim forgets the release of the claim before.
func claim(v View) Step {
	r := v.Record
	r.Release, r.Installed = nil, ""
	return v.saying(infrav1.PhaseProvisioning, infrav1.ReasonInstalling, "the host was claimed").saving(r)
}

// stamp is a time as the record keeps it: whole seconds.
func (v View) stamp() metav1.Time { return metav1.Time{Time: v.Now.UTC().Truncate(1e9)} }
