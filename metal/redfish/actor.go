// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// farewell is the longest that giving back a session may take.
const farewell = 5 * time.Second

// bmc is what an actor needs of a Client.
type bmc interface {
	inspect(ctx context.Context) (Identity, State, error)
	Read(ctx context.Context) (State, error)
	Reset(ctx context.Context, resetType ResetType) error
	SetBootOnce(ctx context.Context, want Boot) error
	Close(ctx context.Context) error
	Fingerprint() string
}

// actor is the goroutine of one BMC and the mailbox in front of it.
type actor struct {
	key     string
	options Options
	open    func(Endpoint, Options) (bmc, error)
	cancel  context.CancelFunc
	before  <-chan struct{} // nil, or closed when an earlier actor of the key has gone
	gone    chan struct{}
	wake    chan struct{}
	ledger  *ledger

	mu       sync.Mutex
	endpoint Endpoint
	changed  bool // the goroutine has not taken up the endpoint yet
	reading  Reading
	next     *Command

	// Of the goroutine alone:
	client     bmc
	unusable   error // why there is no client
	identity   Identity
	identified bool // false before the first contact, and after each that failed
	failures   int
}

func newActor(key string, endpoint Endpoint, past trace, options Options, open func(Endpoint, Options) (bmc, error)) *actor {
	a := &actor{
		key: key, endpoint: endpoint, changed: true, options: options, open: open,
		before: past.gone, ledger: past.ledger, gone: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	a.rouse()
	return a
}

// run is the life of the goroutine.
func (a *actor) run(ctx context.Context) {
	defer close(a.gone)
	if a.before != nil {
		<-a.before // at most one request and a farewell
	}
	timer := time.NewTimer(a.options.PollInterval)
	defer timer.Stop()
	defer a.leave(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			a.turn(ctx)
		case <-a.wake:
			if !a.pending() {
				continue // what woke us was done in the turn before
			}
			a.turn(ctx)
		}
		timer.Reset(a.pause())
	}
}

func (a *actor) pending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed || a.next != nil
}

// turn is one stretch of contact: the command that is queued, else a reading.
func (a *actor) turn(ctx context.Context) {
	a.mu.Lock()
	endpoint, changed := a.endpoint, a.changed
	command := a.next
	a.next, a.changed, a.reading.Running = nil, false, command
	a.mu.Unlock()
	if changed {
		a.reopen(ctx, endpoint)
	}
	if command == nil || command.Verb == Refresh {
		_, _ = a.look(ctx) // the Reading says it
		a.note(func(r *Reading) { r.Running = nil })
	} else {
		a.options.Notify(a.key)
		a.obey(ctx, *command)
	}
	if ctx.Err() == nil {
		a.options.Notify(a.key)
	}
}

// obey carries out a command that was never begun before, and puts its outcome on record.
func (a *actor) obey(ctx context.Context, command Command) {
	a.ledger.begin(Outcome{ID: command.ID, Verb: command.Verb, At: a.options.Now(),
		Err: &Error{Class: Transient, Op: "carrying out " + string(command.Verb), Message: "stopped before the outcome was known"}})
	a.options.Log.Info("Carrying out BMC command", "bmc", a.key, "verb", string(command.Verb), "id", command.ID)
	err := a.perform(ctx, command)
	if ctx.Err() != nil {
		return // cut short by Forget; the record stays as begun
	}
	outcome := Outcome{ID: command.ID, Verb: command.Verb, At: a.options.Now()}
	if err != nil { // an interface around a nil *Error would not be nil
		outcome.Err = asError("carrying out "+string(command.Verb), err)
		a.options.Log.Info("BMC command did not succeed", "bmc", a.key, "verb", string(command.Verb), "id", command.ID, "reason", outcome.Err.Error())
	}
	a.ledger.finish(outcome)
	a.note(func(r *Reading) { r.Running, r.Last = nil, &outcome })
}

// pause is how long nothing need be done: long after a good reading, and longer with every failure.
func (a *actor) pause() time.Duration {
	a.mu.Lock()
	err := a.reading.Err
	a.mu.Unlock()
	wait := a.options.PollInterval
	switch {
	case err == nil:
		a.failures = 0
	case a.unusable != nil: // nobody was called; Connect with a better endpoint wakes us
	case err.Class == Auth:
		a.failures = max(a.failures+1, 4) // BMCs lock accounts after a few wrong passwords
		wait = a.options.backoff(a.failures)
	default:
		a.failures++
		wait = a.options.backoff(a.failures)
	}
	// A tenth of chance, so that BMCs connected together are not read together forever.
	return wait + time.Duration((rand.Float64()-0.5)*0.2*float64(wait))
}

// reopen gives back the old session and takes up the endpoint.
func (a *actor) reopen(ctx context.Context, endpoint Endpoint) {
	a.leave(ctx)
	a.identified, a.failures = false, 0
	client, err := a.open(endpoint, a.options)
	a.client, a.unusable = client, err
	if err != nil {
		a.client = nil
	}
}

// leave gives back the session, also when ctx has ended.
func (a *actor) leave(ctx context.Context) {
	if a.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(farewell, a.options.CallTimeout))
	defer cancel()
	_ = a.client.Close(ctx) // a BMC that does not answer ends the session by itself
	a.client = nil
}

// note changes the Reading.
func (a *actor) note(change func(*Reading)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.reading)
}
