// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Limits are the bounds of every wait of a host.
type Limits struct {
	Attempts      int32         // of one operation before it gives up
	Reboot        time.Duration // of one attempt of a reboot, from leaving Preparing to the proof
	Install       time.Duration // of one attempt of a repave, from leaving Preparing to the proof
	ShutdownGrace time.Duration // for an operating system to shut down before the power is cut
	CommandPause  time.Duration // between two tries of a command that did not reach its state
	Settle        time.Duration // after which a power-on that was asked for before shows in readings
	Poll          time.Duration // between readings while a state is awaited; also the age up to which a reading is of now
	Lease         time.Duration // since its last renewal, after which the agent counts as lost
}

// DefaultLimits are those of a manager without flags.
func DefaultLimits() Limits {
	return Limits{
		Attempts:      3,
		Reboot:        15 * time.Minute,
		Install:       45 * time.Minute,
		ShutdownGrace: 3 * time.Minute,
		CommandPause:  30 * time.Second,
		Settle:        15 * time.Second,
		Poll:          5 * time.Second,
		Lease:         40 * time.Second,
	}
}

// attempt is how long one attempt of an operation of this kind may take.
func (l Limits) attempt(kind infrav1.OperationKind) time.Duration {
	if kind == infrav1.OperationRepave {
		return l.Install
	}
	return l.Reboot
}
