// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package step_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	"github.com/repave-io/cluster-api-provider-repave/agent/step/steptest"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const digest = "sha256:new"

// notebook is a journal in memory.
type notebook struct{ memory goal.Memory }

func (n *notebook) Memory() goal.Memory { return n.memory }

func (n *notebook) Update(change func(goal.Memory) goal.Memory) (goal.Memory, error) {
	n.memory = change(n.memory)
	return n.memory, nil
}

type vault map[string]map[string][]byte

func (v vault) Secret(_ context.Context, name string) (map[string][]byte, error) {
	if name == "away" {
		return nil, errors.New("the API is away")
	}
	data, ok := v[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, step.ErrPullSecret)
	}
	return data, nil
}

type joins struct {
	written []goal.Join
	err     error
}

func (j *joins) Joined(goal.Join) bool { return len(j.written) > 0 }

func (j *joins) Join(_ context.Context, join goal.Join) error {
	if j.err == nil {
		j.written = append(j.written, join)
	}
	return j.err
}

func newRunner(box *steptest.Box) (*step.Runner, *notebook) {
	n := &notebook{memory: goal.Memory{Wish: goal.Wish{Number: 1, Digest: digest, State: infrav1.DesiredStaged}}}
	return &step.Runner{
		Driver: box, Journal: n, Joiner: &joins{}, BootID: box.BootID(), Announce: func(context.Context) {},
		Secrets: vault{"pull": {step.DockerConfigKey: []byte("{}")}, "empty": {}},
		Clock:   clocktesting.NewFakeClock(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler),
	}, n
}

func TestStageTellsWhyItFailed(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		pull  string
		want  string // reason of the failure; "" while it may pass
		tries int32
	}{
		{name: "unknown image: final", err: fmt.Errorf("x: %w", step.ErrImageNotFound), want: infrav1.ReasonImageNotFound},
		{name: "refused credentials: final", err: step.ErrUnauthorized, want: infrav1.ReasonImageUnauthorized},
		{name: "other bytes: final", err: step.ErrDigestMismatch, want: infrav1.ReasonDigestMismatch},
		{name: "not this driver's: final", err: step.ErrUnsupported, want: infrav1.ReasonUpdateFailed},
		{name: "registry in trouble: tried again", err: errors.New("connection refused"), tries: 1},
		{name: "pull secret missing: tried again, it may come", pull: "missing", tries: 1},
		{name: "pull secret without key: tried again", pull: "empty", tries: 1},
		{name: "API away: says nothing about the image", pull: "away"},
	} {
		t.Run(test.name, func(t *testing.T) {
			box := steptest.New("sha256:old")
			box.StageErrors = []error{test.err}
			r, n := newRunner(box)
			_, err := r.Run(t.Context(), []goal.Step{goal.Stage{Image: goal.Image{Ref: "r@" + digest, Digest: digest, PullSecret: test.pull}}})
			if err == nil {
				t.Error("a failed stage must say so")
			}
			var got string
			if n.memory.Failure != nil {
				got = n.memory.Failure.Reason
			}
			if got != test.want || n.memory.Tries != test.tries {
				t.Errorf("got reason %q and %d tries, want %q and %d", got, n.memory.Tries, test.want, test.tries)
			}
		})
	}
}

func TestStageGivesUpAfterItsTries(t *testing.T) {
	box := steptest.New("sha256:old")
	r, n := newRunner(box)
	box.StageErrors = slices.Repeat([]error{errors.New("connection refused")}, goal.StageTries)
	for range goal.StageTries {
		if n.memory.Failure != nil {
			t.Fatal("gave up too early")
		}
		_, _ = r.Run(t.Context(), []goal.Step{goal.Stage{Image: goal.Image{Ref: "r@" + digest, Digest: digest}}})
	}
	if n.memory.Failure == nil || n.memory.Failure.Reason != infrav1.ReasonImagePullFailed {
		t.Errorf("got %+v, want the failure %s", n.memory.Failure, infrav1.ReasonImagePullFailed)
	}
}

func TestStageHandsOnThePullSecretAndIsDoneOnce(t *testing.T) {
	box := steptest.New("sha256:old")
	r, n := newRunner(box)
	steps := []goal.Step{goal.Stage{Image: goal.Image{Ref: "r@" + digest, Digest: digest, PullSecret: "pull"}}}
	for want := range 2 {
		acted, err := r.Run(t.Context(), steps)
		if err != nil || acted != (want == 0) {
			t.Fatalf("run %d: acted %v, error %v", want, acted, err)
		}
	}
	if diff := cmp.Diff([]string{"stage " + digest}, box.Calls()); diff != "" {
		t.Error(diff)
	}
	if string(box.Pulls()[0]) != "{}" || n.memory.Act != nil {
		t.Errorf("pull secret %q, open act %v", box.Pulls()[0], n.memory.Act)
	}
}

func TestCalledOffStageHoldsNothingAgainstTheImage(t *testing.T) {
	box := steptest.New("sha256:old")
	box.StageGate = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	box.Point = func(string) { cancel() }
	r, n := newRunner(box)
	if _, err := r.Run(ctx, []goal.Step{goal.Stage{Image: goal.Image{Digest: digest}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n.memory.Tries != 0 || n.memory.Failure != nil || n.memory.Act == nil {
		t.Errorf("got %+v, want the open intent and nothing else", n.memory)
	}
}

func TestBootAnnouncesAfterItsIntentIsSaved(t *testing.T) {
	box := steptest.New("sha256:old")
	r, n := newRunner(box)
	n.memory.Wish.State = infrav1.DesiredBooted
	ctx, cancel := context.WithCancel(t.Context())
	box.OnReboot = cancel
	var said []goal.Verb
	r.Announce = func(context.Context) { said = append(said, n.memory.Act.Verb) }
	_, _ = r.Run(ctx, []goal.Step{goal.Boot{Digest: digest}})
	if diff := cmp.Diff([]goal.Verb{goal.VerbBoot}, said); diff != "" {
		t.Error(diff)
	}
	want := &goal.Act{Verb: goal.VerbBoot, Digest: digest, BootID: "boot-0", From: "sha256:old"}
	if diff := cmp.Diff(want, n.memory.Act); diff != "" {
		t.Error(diff)
	}
}

func TestBootTakenBackWhileItIsAnnouncedIsNotCarriedOut(t *testing.T) {
	box := steptest.New("sha256:old")
	box.Keep(digest)
	r, n := newRunner(box)
	n.memory.Wish.State = infrav1.DesiredBooted
	r.Announce = func(context.Context) { n.memory = n.memory.See(nil) } // the API is slow, and the wish goes meanwhile
	for _, next := range []goal.Step{goal.Boot{Digest: digest}, goal.RollBack{Digest: digest}} {
		if acted, err := r.Run(t.Context(), []goal.Step{next}); !acted || err != nil {
			t.Errorf("%T: acted %v, error %v", next, acted, err)
		}
	}
	if len(box.Calls()) > 0 || n.memory.Failure != nil || n.memory.Act != nil {
		t.Errorf("calls %v, memory %+v", box.Calls(), n.memory)
	}
}

func TestBootThatNeverComesIsAFailure(t *testing.T) {
	box := steptest.New("sha256:old")
	box.Keep(digest)
	box.Broken = []string{digest}
	r, n := newRunner(box)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	r.Clock = clock
	ended := make(chan error)
	go func() {
		_, err := r.Run(t.Context(), []goal.Step{goal.RollBack{Digest: digest}})
		ended <- err
	}()
	for !clock.HasWaiters() {
		select {
		case err := <-ended:
			t.Fatalf("did not wait: %v", err)
		default:
		}
	}
	clock.Step(step.DefaultRebootDeadline)
	if err := <-ended; err == nil {
		t.Error("must say that the host did not reboot")
	}
	if n.memory.Failure == nil || n.memory.Failure.Reason != infrav1.ReasonBootFailed || n.memory.Failure.Stage != infrav1.FailedBoot {
		t.Errorf("got %+v", n.memory.Failure)
	}
}

func TestJoinThatWaitsDoesNotKeepTheImageWaiting(t *testing.T) {
	box := steptest.New("sha256:old")
	r, _ := newRunner(box)
	r.Joiner = &joins{err: errors.New("no such secret")}
	acted, err := r.Run(t.Context(), []goal.Step{goal.Join{Secret: "s"}, goal.Stage{Image: goal.Image{Digest: digest}}})
	if !acted || err == nil {
		t.Errorf("acted %v, error %v; want both", acted, err)
	}
	if diff := cmp.Diff([]string{"stage " + digest}, box.Calls()); diff != "" {
		t.Error(diff)
	}
}

func TestJoinIsWrittenOnceForEachClaim(t *testing.T) {
	r, _ := newRunner(steptest.New("sha256:old"))
	j := &joins{}
	r.Joiner = j
	first, second := goal.Join{Secret: "s", ProviderID: "1"}, goal.Join{Secret: "s", ProviderID: "2"}
	for _, join := range []goal.Join{first, first, second, second} {
		if _, err := r.Run(t.Context(), []goal.Step{join}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]goal.Join{first, second}, j.written); diff != "" {
		t.Error(diff)
	}
}
