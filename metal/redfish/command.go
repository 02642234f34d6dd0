// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"slices"
	"time"
)

// Verb is what an actor can be asked to do.
type Verb string

const (
	Refresh          Verb = "Refresh"          // read now
	PowerOn          Verb = "PowerOn"          // nothing when on
	ForceOff         Verb = "ForceOff"         // nothing when off
	GracefulShutdown Verb = "GracefulShutdown" // nothing when off; Ignored when the operating system does not follow
	NetworkBootOnce  Verb = "NetworkBootOnce"  // from Command.URL where the firmware takes one, else by PXE
)

// Command is one thing to do.
type Command struct {
	// ID names operation and step. What has the same ID is done at most once for a key in the life of the process, also
	// when it failed and also after Forget: another attempt is another ID. Required but for Refresh, which has none.
	ID   string
	Verb Verb
	URL  string // with NetworkBootOnce; may hold a one-time token, so it is in no text form
}

// String leaves the URL out.
func (c Command) String() string {
	if c.ID == "" {
		return string(c.Verb)
	}
	return string(c.Verb) + " " + c.ID
}

// GoString leaves the URL out.
func (c Command) GoString() string { return "redfish.Command{" + c.String() + "}" }

// MarshalText leaves the URL out of structured logs.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Outcome is what came of a Command. Err is nil or an *Error.
type Outcome struct {
	ID   string
	Verb Verb
	Err  error
	At   time.Time
}

// Reading is what is known of a BMC. State and Identity are of time At, however long ago that is.
type Reading struct {
	At          time.Time // last successful reading; zero before the first
	Identity    Identity
	State       State
	Fingerprint string   // SHA-256 of the certificate last shown, in hex, also of a refused one
	Err         *Error   // of the last contact; nil when it was good
	Running     *Command // being carried out now
	Last        *Outcome // of the last Command with an ID that ended, or was asked for again
}

// copy shares nothing with the original.
func (r Reading) copy() Reading {
	r.Identity.ResetTypes = slices.Clone(r.Identity.ResetTypes)
	r.Identity.BootTargets = slices.Clone(r.Identity.BootTargets)
	r.Err, r.Running, r.Last = clone(r.Err), clone(r.Running), clone(r.Last)
	return r
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
