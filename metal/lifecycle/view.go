// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// View is all that is known of a host at one look.
type View struct {
	Now     time.Time
	Limits  Limits
	FreshID string // a new random ID, at most 63 characters: that of an operation opened by this look

	Deleting     bool
	Paused       bool
	ForceRelease bool // a person gave up on the power control of the host
	Repin        bool // a person asked to forget the pinned certificate

	Spec    Spec
	Record  Record
	BMC     BMC
	Agent   Agent
	Netboot Netboot
}

// Spec is what is wanted.
type Spec struct {
	HasBMC        bool
	HasRootDevice bool
	Online        bool
	Claim         string               // name of the machine; "" when the host is free
	Desired       *infrav1.HostDesired // nil with a claim: the claim ends
	Counters      infrav1.Counters
}

// BMC is the last reading of the BMC by this process.
type BMC struct {
	At          time.Time // of the last good reading; zero before the first
	Power       infrav1.PowerState
	Trouble     string // "", or the reason of BMCReachable why the last contact was not good
	Message     string // of the trouble
	CanShutDown bool   // the BMC lists a graceful shutdown
	Busy        bool   // a command is being carried out
	Last        Outcome
	Fingerprint string // of the certificate to pin, when that is how the BMC is trusted and it was shown in a good contact
}

// Outcome is what came of the last command that ended.
type Outcome struct {
	ID          string
	At          time.Time
	Failed      bool
	Unsupported bool // no further try can succeed
	Message     string
}

// Agent is what the agent of the host reports.
type Agent struct {
	Connected bool // its Lease is fresh
	Known     bool // it has reported before
	BootID    string
	NodeName  string
	Install   infrav1.InstallMark // what the last netboot install left on the disk
}

// Netboot is what the netboot server says.
type Netboot struct {
	Image         infrav1.NetbootImageStatus
	RedeemedOrder string
	Failure       infrav1.InstallFailure
}

// netbootDigest of what is wanted, "" where nothing is.
func (s Spec) netbootDigest() string {
	if s.Desired == nil {
		return ""
	}
	return s.Desired.Netboot.Digest()
}

// providerID of the claim, "" where there is none.
func (s Spec) providerID() string {
	if s.Claim == "" || s.Desired == nil {
		return ""
	}
	return s.Desired.ProviderID
}

// fresh says whether the last reading speaks of now, or at least of a time since the given one. Times of the record have
// whole seconds; and a reading of the last moments is taken even if clocks of two managers differ.
func (v View) fresh(since time.Time) bool {
	return v.BMC.Trouble == "" && !v.BMC.At.IsZero() && (!v.BMC.At.Before(since) || v.age() <= v.Limits.Poll)
}

func (v View) age() time.Duration { return v.Now.Sub(v.BMC.At) }
