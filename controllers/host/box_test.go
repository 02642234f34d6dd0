// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
	"time"

	"github.com/repave-io/cluster-api-provider-repave/metal/order"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

const password = "s3cret-of-the-bmc"

// box is a server and its BMC. It outlives the processes that command it.
type box struct {
	mu      sync.Mutex
	now     func() time.Time
	power   redfish.PowerState
	bootURL string // of the one-time boot source
	booted  string // URL that the present boot came from, "" from disk
	boots   int
	cuts    int
	ons     int
	shown   *redfish.Error // what contact ends with
}

// actors are metal/redfish.Actors of one process: they carry an ID out once, and nothing where the state is there already.
type actors struct {
	box      *box
	mu       sync.Mutex
	known    map[string]redfish.Outcome
	reading  map[string]*redfish.Reading
	endpoint map[string]redfish.Endpoint
	acts     func() // called after each new command, which may be the last that the process does
}

func newActors(b *box) *actors {
	return &actors{box: b, known: map[string]redfish.Outcome{}, reading: map[string]*redfish.Reading{}, endpoint: map[string]redfish.Endpoint{}, acts: func() {}}
}

func (a *actors) Connect(key string, endpoint redfish.Endpoint) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reading[key] == nil {
		a.reading[key] = &redfish.Reading{}
	}
	a.endpoint[key] = endpoint
	a.look(key)
}

func (a *actors) Forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.reading, key)
}

func (a *actors) Reading(key string) (redfish.Reading, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	reading, ok := a.reading[key]
	if !ok {
		return redfish.Reading{}, false
	}
	return *reading, true
}

func (a *actors) look(key string) {
	a.box.mu.Lock()
	defer a.box.mu.Unlock()
	r := a.reading[key]
	if r.Err = a.box.shown; r.Err != nil {
		return
	}
	r.At, r.State.Power, r.Fingerprint = a.box.now(), a.box.power, "aabb"
	r.Identity = redfish.Identity{Manufacturer: "Contoso", Model: "R1", ResetTypes: []string{"On", "ForceOff"}}
}

func (a *actors) Ask(key string, c redfish.Command) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reading[key] == nil {
		return false
	}
	a.look(key)
	if c.Verb == redfish.Refresh {
		return true
	}
	outcome, done := a.known[c.ID]
	if !done {
		outcome = redfish.Outcome{ID: c.ID, Verb: c.Verb, At: a.box.now()}
		a.box.obey(c)
		a.known[c.ID] = outcome
		a.acts()
	}
	a.look(key)
	a.reading[key].Last = &outcome
	return true
}

func (b *box) obey(c redfish.Command) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case c.Verb == redfish.NetworkBootOnce:
		b.bootURL = c.URL
	case c.Verb == redfish.PowerOn && b.power == redfish.Off:
		b.ons++
		b.boots++
		b.power, b.booted, b.bootURL = redfish.On, b.bootURL, ""
	case c.Verb == redfish.ForceOff && b.power == redfish.On:
		b.cuts++
		b.power = redfish.Off
	}
}

func (b *box) fail(e *redfish.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown = e
}

// The real hands fit the doors that this package declares.
var (
	_ BMCs   = (*redfish.Actors)(nil)
	_ Orders = order.URLs{}
)

// orders make URLs without a secret, to be read back by the box.
type orders struct{}

func (orders) BootURL(_, _, _, order string) string { return "http://boot/" + order }
