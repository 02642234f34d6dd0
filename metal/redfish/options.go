// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"time"

	"github.com/go-logr/logr"
)

// Options of Clients and Actors. The zero value has usable defaults.
type Options struct {
	Now         func() time.Time // clock of what Readings and Outcomes say; default time.Now
	CallTimeout time.Duration    // each HTTP request, with connecting and reading the answer; default 20s

	PollInterval time.Duration // between readings of an idle BMC, give or take a tenth; default 10m
	BackoffMin   time.Duration // after the first failed contact, doubling with each further one; default 5s
	BackoffMax   time.Duration // default 5m

	PowerPoll time.Duration // between readings while a power change is awaited; default 1s
	PowerWait time.Duration // for a power change before it counts as Ignored; default 60s

	// Notify is called with the key after every change of a Reading, outside of all locks, on the goroutine of the BMC it
	// concerns or of the caller of Ask: it must be quick. Default: nobody is told.
	Notify func(key string)

	Log logr.Logger // one line per act on a BMC; default: none
}

func (o Options) complete() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	fill := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	fill(&o.CallTimeout, 20*time.Second)
	fill(&o.PollInterval, 10*time.Minute)
	fill(&o.BackoffMin, 5*time.Second)
	fill(&o.BackoffMax, 5*time.Minute)
	fill(&o.PowerPoll, time.Second)
	fill(&o.PowerWait, time.Minute)
	return o
}

// backoff is the wait after so many failed contacts in a row.
func (o Options) backoff(failures int) time.Duration {
	wait := o.BackoffMin
	for ; failures > 1 && wait < o.BackoffMax; failures-- {
		wait *= 2
	}
	return min(wait, o.BackoffMax)
}
