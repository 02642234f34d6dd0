// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Step is what comes next for a host.
type Step struct {
	Phase   infrav1.HostPhase
	Ready   bool
	Reason  string // of the condition Ready
	Message string // without times, so that it stays the same while nothing happens

	// Record as it is to be from now on. With Save it differs from the View's: it is saved, and Effect is None.
	Record Record
	Save   bool
	Effect Effect
	Again  time.Duration // look again after this at the latest; 0: only when something changes
}

// Effect is one of None, Refresh, Command and Forget.
type Effect interface{ effect() }

// None does nothing.
type None struct{}

// Refresh reads the BMC now.
type Refresh struct{}

// Command has the BMC do something.
type Command struct {
	ID   string // what has the same ID is asked for once more, not done once more
	Verb Verb
	// Order is what the host boots from the network, with NetworkBoot only. The shell makes the URL of it.
	Order string
}

// Forget lets a host go that goes away: give back the BMC's session and let the object go.
type Forget struct{}

func (None) effect()    {}
func (Refresh) effect() {}
func (Command) effect() {}
func (Forget) effect()  {}

// Verb is what a BMC is commanded to do.
type Verb string

// The verbs.
const (
	PowerOn     Verb = "PowerOn"
	ForceOff    Verb = "ForceOff"
	ShutDown    Verb = "ShutDown"
	NetworkBoot Verb = "NetworkBoot"
)

// saying is a step that changes and does nothing yet.
func (v View) saying(phase infrav1.HostPhase, reason, message string) Step {
	return Step{Phase: phase, Reason: reason, Message: message, Record: v.Record, Effect: None{}}
}

// saving makes it a step that saves a changed record, and so does nothing else.
func (s Step) saving(r Record) Step {
	s.Record, s.Save, s.Effect, s.Again = r, true, None{}, 0
	return s
}

// doing makes it a step with an act, or a look again.
func (s Step) doing(e Effect, again time.Duration) Step {
	s.Effect, s.Again = e, max(again, 0)
	return s
}

// reading awaits a state of the power: it reads again when the last reading has grown old. After a contact that failed it
// does not: the BMC is tried again with growing pauses by itself, and a failure wakes us, which would make a hot loop.
func (v View) reading(s Step) Step {
	if v.BMC.Trouble != "" || v.BMC.Busy {
		return s.doing(None{}, v.Limits.Poll)
	}
	if v.BMC.At.IsZero() || v.age() >= v.Limits.Poll {
		return s.doing(Refresh{}, v.Limits.Poll)
	}
	return s.doing(None{}, v.Limits.Poll-v.age())
}
