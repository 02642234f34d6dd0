// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	"github.com/repave-io/cluster-api-provider-repave/agent/report"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// api takes applies and counts resource versions up from 10.
type api struct {
	applied []infrav1.AgentStatus
	fail    int
	tried   chan struct{}
}

func (a *api) ApplyStatus(_ context.Context, status infrav1.AgentStatus) (string, error) {
	if a.tried != nil {
		defer func() { a.tried <- struct{}{} }()
	}
	if a.fail > 0 {
		a.fail--
		return "", errors.New("the API is away")
	}
	a.applied = append(a.applied, status)
	return fmt.Sprint(9 + len(a.applied)), nil
}

func newReporter(a *api) *report.Reporter {
	return report.NewReporter(a, slog.New(slog.DiscardHandler))
}

func TestOnlyDifferencesAreApplied(t *testing.T) {
	idle, staging := infrav1.AgentStatus{Activity: infrav1.AgentIdle}, infrav1.AgentStatus{Activity: infrav1.AgentStaging}
	a := &api{}
	r := newReporter(a)
	flush := func(want int, why string) {
		t.Helper()
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(a.applied) != want {
			t.Fatalf("%s: %d applies, want %d", why, len(a.applied), want)
		}
	}
	flush(0, "nothing is wanted yet")
	r.Seen(&idle, "5")
	r.Want(idle)
	flush(0, "it is there already, from an earlier life")
	r.Want(staging)
	flush(1, "another status")
	flush(1, "the same again")
	r.Seen(&idle, "9")
	flush(1, "old news from before the apply")
	r.Seen(&staging, "10")
	flush(1, "the echo of the apply")
	r.Seen(nil, "12")
	flush(2, "somebody dropped the status")
}

func TestReportsAreTriedAgainAndOnlyTheLastOneCounts(t *testing.T) {
	a := &api{fail: 2, tried: make(chan struct{})}
	r := newReporter(a)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Keep(ctx, clock)
	}()
	r.Want(infrav1.AgentStatus{Activity: infrav1.AgentStaging})
	for range 2 {
		<-a.tried
		r.Want(infrav1.AgentStatus{Activity: infrav1.AgentStaged})
		waitForTimer(t, clock)
		clock.Step(time.Minute)
	}
	<-a.tried
	cancel()
	<-ended
	if diff := cmp.Diff([]infrav1.AgentStatus{{Activity: infrav1.AgentStaged}}, a.applied); diff != "" {
		t.Error(diff)
	}
}

func TestStatus(t *testing.T) {
	failure := &infrav1.AgentFailure{Digest: "sha256:x", Stage: infrav1.FailedStage, Reason: "r"}
	got := report.Status(report.Facts{
		Version: "v1", Driver: "box", BootID: "b", NodeName: "n",
		Images:  step.Status{Booted: &step.Image{Ref: "r@sha256:a", Digest: "sha256:a", Version: "1"}, Staged: &step.Image{}},
		Install: orderv1.Install{Order: "o.1", Digest: "sha256:net", OSImage: "r@sha256:a"},
	}, goal.Goal{Activity: infrav1.AgentIdle, Failure: failure})
	want := infrav1.AgentStatus{
		Version: "v1", Driver: "box", BootID: "b", NodeName: "n",
		Booted:   &infrav1.HostImage{Ref: "r@sha256:a", Digest: "sha256:a", Version: "1"},
		Install:  &infrav1.InstallMark{Order: "o.1", Digest: "sha256:net"},
		Activity: infrav1.AgentIdle, Failure: failure,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := report.Status(report.Facts{}, goal.Goal{}); got.Install != nil {
		t.Errorf("a host that no order installed reports %+v", got.Install)
	}
}

// leases are renewed, or not.
type leases struct {
	err     error
	renewed chan time.Time
}

func (l *leases) RenewLease(_ context.Context, _ string, duration time.Duration, now time.Time) error {
	if duration != 40*time.Second {
		return fmt.Errorf("duration %s", duration)
	}
	err := l.err
	l.err = nil
	l.renewed <- now
	return err
}

func TestLeaseIsRenewedInTime(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	l := &leases{err: errors.New("away"), renewed: make(chan time.Time)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		report.KeepLease(ctx, l, "h1", clock, slog.New(slog.DiscardHandler))
	}()
	if at := <-l.renewed; !at.Equal(time.Unix(0, 0)) {
		t.Errorf("first renewal at %s", at)
	}
	waitForTimer(t, clock)
	clock.Step(time.Second) // a failed renewal is tried again soon
	<-l.renewed
	for n := range 3 {
		waitForTimer(t, clock)
		clock.Step(report.RenewEvery)
		if at := <-l.renewed; !at.Equal(time.Unix(0, 0).Add(time.Second + time.Duration(n+1)*report.RenewEvery)) {
			t.Errorf("renewal %d at %s", n, at)
		}
	}
	cancel()
	<-ended
}

// waitForTimer waits until the code under test waits for the clock.
func waitForTimer(t *testing.T, clock *clocktesting.FakeClock) {
	t.Helper()
	for !clock.HasWaiters() {
		if t.Context().Err() != nil {
			t.Fatal("nobody waits")
		}
	}
}
