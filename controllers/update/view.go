// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Limits are the deadlines of the waits that a broken image could make endless. Waits for slots and for pods have none: both
// are shown with their reason and harm nothing.
type Limits struct {
	// Boot is how long a host may take from the boot wish until its agent reports from the new boot.
	Boot time.Duration
	// Verify is how long the Node may take from then on to prove itself.
	Verify time.Duration
}

// DefaultLimits give boot and proof 20 minutes together; servers with much memory take most of the first part to start.
func DefaultLimits() Limits { return Limits{Boot: 15 * time.Minute, Verify: 5 * time.Minute} }

// View is everything that the next step of a machine depends on.
type View struct {
	// Now is the time of the look.
	Now time.Time
	// Limits of the waits.
	Limits Limits
	// Wanted is the digest of the in-place image; "" where none is named.
	Wanted string
	// Netboot is the digest of the netboot image; "" where none is named.
	Netboot string
	// Slot is the digest for which a slot is granted; "" for none.
	Slot string
	// Update is what was saved of the way so far; nil for nothing, also after status was lost.
	Update *infrav1.MachineUpdate
	// Host is what is known of the host.
	Host HostFacts
	// Node is what is known of the Node.
	Node NodeFacts
	// Drain is how far the drain of the Node is.
	Drain DrainFacts
}

// HostFacts is what matters of a host.
type HostFacts struct {
	// Connected: the agent renews its Lease, so what it reports is of now.
	Connected bool
	// Booted and Staged are the digests of the running and the waiting image.
	Booted, Staged string
	// BootID of the running kernel.
	BootID string
	// Installed is the digest of the netboot image whose install was proven.
	Installed string
	// Failure is the image that the agent gave up on; the zero value for none.
	Failure infrav1.AgentFailure
	// Desired is the digest that the host is asked for, and State how far it may go.
	Desired string
	State   infrav1.DesiredState
	// Operation: a reboot or repave of the host is open.
	Operation bool
}

// NodeFacts is what matters of a Node.
type NodeFacts struct {
	// Unreachable: the workload cluster does not answer, so the other facts are unknown.
	Unreachable bool
	// Found: the Node exists.
	Found bool
	// Ready: its kubelet says so and is heard.
	Ready bool
	// Unschedulable: the Node is cordoned, by whomever.
	Unschedulable bool
	// Cordoned: the Node is cordoned by this machine and the cordon must be given back.
	Cordoned bool
	// BootID that the kubelet reports.
	BootID string
}

// DrainState is how far a drain is.
type DrainState string

// The states of a drain.
const (
	// DrainNone: no drain was begun, or it was forgotten by a restart.
	DrainNone DrainState = ""
	// DrainRunning: pods are being moved away.
	DrainRunning DrainState = "Running"
	// DrainBlocked: pods refuse to go; it is tried again without being asked to.
	DrainBlocked DrainState = "Blocked"
	// DrainDone: all pods are gone that have to go.
	DrainDone DrainState = "Done"
)

// DrainFacts is how far the drain of a Node is.
type DrainFacts struct {
	// State of the drain.
	State DrainState
	// Message says what blocks it.
	Message string
}

// Effect is one thing to do, after the Step's Update was saved. All effects may be repeated.
type Effect interface{ effect() }

// The effects, comparable.
type (
	// None: nothing to do.
	None struct{}
	// SetDesired asks the host for an image, at most as far as State. The digest is the wanted one, or the one that the host
	// is asked for already.
	SetDesired struct {
		Digest string
		State  infrav1.DesiredState
	}
	// Cordon keeps new pods off the Node and notes that this machine did it.
	Cordon struct{}
	// Drain moves the pods away, in the background.
	Drain struct{}
	// Uncordon gives the cordon of this machine back.
	Uncordon struct{}
)

func (None) effect()       {}
func (SetDesired) effect() {}
func (Cordon) effect()     {}
func (Drain) effect()      {}
func (Uncordon) effect()   {}

// Step is what comes next for a machine. Steps are comparable.
type Step struct {
	// Update is the progress to save before the effect; without a digest there is none to save.
	Update infrav1.MachineUpdate
	// Effect to perform; never nil.
	Effect Effect
	// Hold: a boot is under way, so the image that the host is asked for must not be changed until it is over.
	Hold bool
	// Reason and Message say for people why the machine is where it is.
	Reason, Message string
	// Again is when to look again although nothing happens; 0: not needed.
	Again time.Duration
}
