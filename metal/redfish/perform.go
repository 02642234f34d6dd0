// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"time"

	"github.com/stmcginnis/gofish/schemas"
)

// look reads the BMC into the Reading. A failure leaves what was read before, with its time.
func (a *actor) look(ctx context.Context) (State, error) {
	if a.unusable != nil {
		a.failed(ctx, a.unusable)
		return State{}, a.unusable
	}
	state, err := a.read(ctx)
	if err != nil {
		a.failed(ctx, err)
		return State{}, err
	}
	a.note(func(r *Reading) {
		if a.changed {
			return // of the endpoint before: who is there now is read next
		}
		r.At, r.State, r.Err, r.Fingerprint, r.Identity = a.options.Now(), state, nil, a.client.Fingerprint(), a.identity
	})
	return state, nil
}

func (a *actor) read(ctx context.Context) (State, error) {
	if a.identified {
		return a.client.Read(ctx)
	}
	identity, state, err := a.client.inspect(ctx)
	if err == nil {
		a.identity, a.identified = identity, true
	}
	return state, err
}

// failed records a contact that failed, unless we were told to stop: then it was our own doing.
func (a *actor) failed(ctx context.Context, err error) {
	a.identified = false // who answers next may have other firmware
	if ctx.Err() != nil {
		return
	}
	known := asError("reading the BMC", err)
	a.note(func(r *Reading) {
		if a.changed {
			return
		}
		r.Err = known
		if a.client == nil {
			return
		}
		if shown := a.client.Fingerprint(); shown != "" {
			r.Fingerprint = shown
		}
	})
}

// perform carries out a power or boot command. What it does is done at most once; looking may be repeated.
func (a *actor) perform(ctx context.Context, command Command) error {
	state, err := a.look(ctx)
	if err != nil {
		return err
	}
	switch command.Verb {
	case PowerOn:
		return a.power(ctx, state.Power, schemas.OnResetType, On, PoweringOn)
	case ForceOff:
		return a.power(ctx, state.Power, schemas.ForceOffResetType, Off, "")
	case GracefulShutdown:
		return a.power(ctx, state.Power, schemas.GracefulShutdownResetType, Off, PoweringOff)
	case NetworkBootOnce:
		err := a.client.SetBootOnce(ctx, networkBoot(a.identity, command.URL))
		_, err = a.lookAfter(ctx, err)
		return err
	default:
		return &Error{Class: Unsupported, Op: "carrying out a command", Message: "unknown verb"}
	}
}

// power asks for a reset unless the server is where it shall be, or on the way there, and waits until it is.
func (a *actor) power(ctx context.Context, is PowerState, resetType ResetType, wanted, underWay PowerState) error {
	if is == wanted {
		return nil
	}
	if is != underWay {
		if err := a.client.Reset(ctx, resetType); err != nil {
			state, err := a.lookAfter(ctx, err)
			// Some BMCs refuse what is so already (409 to On when on), others answer with an error and do it all the same.
			if state.Power == wanted {
				return nil
			}
			return err
		}
	}
	return a.await(ctx, resetType, wanted)
}

// lookAfter reads what an act left behind, and returns that with the act's error. After an error that no further request
// would survive it only records that.
func (a *actor) lookAfter(ctx context.Context, err error) (State, error) {
	switch classOf(err) {
	case Unreachable, Auth, Certificate:
		a.failed(ctx, err)
		return State{}, err
	}
	state, looked := a.look(ctx)
	if err == nil {
		err = looked
	}
	return state, err
}

// await reads until the power is as wanted or PowerWait has passed. Accepted resets are nothing but promises.
func (a *actor) await(ctx context.Context, resetType ResetType, wanted PowerState) error {
	deadline := time.NewTimer(a.options.PowerWait)
	defer deadline.Stop()
	tick := time.NewTicker(a.options.PowerPoll)
	defer tick.Stop()
	for {
		before := a.copy()
		state, err := a.look(ctx)
		if err == nil && state.Power == wanted {
			return nil
		}
		if after := a.copy(); before.State != after.State || classOf(orNil(before.Err)) != classOf(orNil(after.Err)) {
			a.options.Notify(a.key)
		}
		if class := classOf(err); class == Auth || class == Certificate {
			return err // no further try helps, and BMCs lock accounts after a few
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			if err != nil {
				return err
			}
			return &Error{Class: Ignored, Op: "resetting with " + string(resetType),
				Message: "the BMC accepted it, but the power state is not " + string(wanted) + " after " + a.options.PowerWait.String()}
		case <-tick.C:
		}
	}
}

// orNil keeps a nil *Error from becoming an error that is not nil.
func orNil(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}
