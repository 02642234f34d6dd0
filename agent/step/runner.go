// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// DefaultRebootDeadline is how long the agent waits to be killed by the reboot that it asked for.
const DefaultRebootDeadline = 10 * time.Minute

// DockerConfigKey is the key of a pull secret.
const DockerConfigKey = ".dockerconfigjson"

// ErrPullSecret marks a pull secret that is missing or may not be read (yet).
var ErrPullSecret = errors.New("the pull secret cannot be read")

// errUnknown marks trouble that says nothing about the image.
var errUnknown = errors.New("not known")

// Journal remembers. An update is on disk when Update returns.
type Journal interface {
	Memory() goal.Memory
	Update(change func(goal.Memory) goal.Memory) (goal.Memory, error)
}

// Secrets reads the Secrets named in the host's spec. Errors that only an answer of the API can cause, a missing Secret or one
// that may not be read, wrap ErrPullSecret; while the API is away they do not.
type Secrets interface {
	Secret(ctx context.Context, name string) (map[string][]byte, error)
}

// Joiner writes what the kubelet needs. It may be called again at any time.
type Joiner interface {
	// Joined says whether the files of the join are there.
	Joined(join goal.Join) bool
	Join(ctx context.Context, join goal.Join) error
}

// Runner carries out steps, one at a time.
type Runner struct {
	Driver  Driver
	Journal Journal
	Secrets Secrets
	Joiner  Joiner
	// BootID of the running kernel.
	BootID string
	// Announce tells the world what the journal says now, before the host goes down. It must not take long, and nothing
	// depends on its success.
	Announce func(ctx context.Context)
	// RebootDeadline defaults to DefaultRebootDeadline.
	RebootDeadline time.Duration
	Clock          clock.Clock
	Log            *slog.Logger
}

// Run carries out the first step that is not done yet. It returns whether there was one. The error of a step is for the log and
// for trying again later; what is final is in the journal.
func (r *Runner) Run(ctx context.Context, steps []goal.Step) (acted bool, err error) {
	var errs []error
	for _, next := range steps {
		acted, err := r.run(ctx, next)
		if acted {
			return true, errors.Join(append(errs, err)...)
		}
		// A join that has to wait for its Secret does not keep an image waiting.
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}

func (r *Runner) run(ctx context.Context, next goal.Step) (acted bool, err error) {
	switch s := next.(type) {
	case goal.Join:
		return r.join(ctx, s)
	case goal.Stage:
		return r.stage(ctx, s.Image)
	case goal.Boot:
		return r.reboot(ctx, goal.VerbBoot, s.Digest, func() error { return r.Driver.Boot(ctx, s.Digest) })
	case goal.RollBack:
		return r.reboot(ctx, goal.VerbRollBack, s.Digest, func() error { return r.Driver.RollBack(ctx) })
	default:
		return false, fmt.Errorf("carrying out %T: unknown step", next)
	}
}

func (r *Runner) join(ctx context.Context, join goal.Join) (bool, error) {
	if r.Journal.Memory().Joined == join && r.Joiner.Joined(join) {
		return false, nil
	}
	r.Log.Info("Writing the join", "secret", join.Secret, "providerID", join.ProviderID)
	if err := r.Joiner.Join(ctx, join); err != nil {
		return false, fmt.Errorf("joining: %w", err)
	}
	_, err := r.Journal.Update(func(m goal.Memory) goal.Memory {
		m.Joined = join
		return m
	})
	return true, err
}

func (r *Runner) stage(ctx context.Context, image goal.Image) (bool, error) {
	status, err := r.Driver.Status(ctx)
	if err != nil {
		return false, fmt.Errorf("asking driver: %w", err)
	}
	booted, staged, _ := status.Digests()
	if staged == image.Digest || booted == image.Digest {
		return false, nil
	}
	if err := r.begin(goal.VerbStage, image.Digest, booted); err != nil {
		return false, err
	}
	r.Log.Info("Staging the image", "image", image.Ref)
	return true, r.staged(ctx, image, r.bring(ctx, image))
}

// bring stages the image and reads back that it is there: a driver's word is not enough to boot on.
func (r *Runner) bring(ctx context.Context, image goal.Image) error {
	var pull []byte
	if image.PullSecret != "" {
		data, err := r.Secrets.Secret(ctx, image.PullSecret)
		if errors.Is(err, ErrPullSecret) {
			return fmt.Errorf("reading pull secret %s: %w", image.PullSecret, err)
		}
		if err != nil {
			return fmt.Errorf("reading pull secret %s: %w: %w", image.PullSecret, errUnknown, err)
		}
		if pull = data[DockerConfigKey]; len(pull) == 0 {
			return fmt.Errorf("reading pull secret %s: no key %s: %w", image.PullSecret, DockerConfigKey, ErrPullSecret)
		}
	}
	if err := r.Driver.Stage(ctx, Image{Ref: image.Ref, Digest: image.Digest, PullSecret: pull}); err != nil {
		return fmt.Errorf("staging image: %w", err)
	}
	status, err := r.Driver.Status(ctx)
	if err != nil {
		return fmt.Errorf("reading back staged image: %w: %w", errUnknown, err)
	}
	if _, staged, _ := status.Digests(); staged != image.Digest {
		return fmt.Errorf("reading back staged image: found %q: %w", staged, ErrDigestMismatch)
	}
	return nil
}

// staged notes how staging ended. A Stage that was called off, or was kept from the driver, leaves its intent open: nothing is
// known against the image.
func (r *Runner) staged(ctx context.Context, image goal.Image, failed error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err := r.Journal.Update(func(m goal.Memory) goal.Memory {
		if m.Act == nil || m.Act.Digest != image.Digest {
			return m
		}
		reason, passing := stageReason(failed)
		switch {
		case errors.Is(failed, errUnknown):
			return m
		case failed == nil:
			return m.Succeed()
		case passing:
			return m.Retry(reason, failed.Error())
		default:
			return m.Fail(reason, failed.Error())
		}
	})
	return errors.Join(failed, err)
}

// reboot carries out a Boot or a RollBack, then waits to be killed.
func (r *Runner) reboot(ctx context.Context, verb goal.Verb, digest string, act func() error) (bool, error) {
	status, err := r.Driver.Status(ctx)
	if err != nil {
		return false, fmt.Errorf("asking driver: %w", err)
	}
	booted, _, _ := status.Digests()
	if booted == digest {
		return false, nil
	}
	if err := r.begin(verb, digest, booted); err != nil {
		return false, err
	}
	r.Log.Info("Rebooting the host", "verb", verb, "digest", digest)
	r.Announce(ctx)
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	if intent := r.Journal.Memory().Act; intent == nil || intent.Verb != verb || intent.Digest != digest {
		r.Log.Info("Not rebooting the host: the wish was taken back", "verb", verb, "digest", digest)
		return true, nil // telling the world took its time, and nobody drains for this boot any more
	}
	if err := act(); err != nil {
		if ctx.Err() != nil { // killed in the act: the boot ID will tell whether it was carried out
			return true, ctx.Err()
		}
		reason := infrav1.ReasonBootFailed
		if errors.Is(err, ErrUnsupported) {
			reason = infrav1.ReasonUpdateFailed
		}
		return true, errors.Join(fmt.Errorf("rebooting: %w", err), r.fail(digest, reason, err.Error()))
	}
	return true, r.awaitEnd(ctx, digest)
}

// awaitEnd waits for the reboot to end this agent.
func (r *Runner) awaitEnd(ctx context.Context, digest string) error {
	deadline := r.RebootDeadline
	if deadline == 0 {
		deadline = DefaultRebootDeadline
	}
	timer := r.Clock.NewTimer(deadline)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		message := fmt.Sprintf("the host did not reboot within %s of being asked to", deadline)
		return errors.Join(errors.New(message), r.fail(digest, infrav1.ReasonBootFailed, message))
	}
}

func (r *Runner) begin(verb goal.Verb, digest, booted string) error {
	_, err := r.Journal.Update(func(m goal.Memory) goal.Memory { return m.Begin(verb, digest, r.BootID, booted) })
	return err
}

func (r *Runner) fail(digest, reason, message string) error {
	_, err := r.Journal.Update(func(m goal.Memory) goal.Memory {
		if m.Act == nil || m.Act.Digest != digest {
			return m
		}
		return m.Fail(reason, message)
	})
	return err
}
