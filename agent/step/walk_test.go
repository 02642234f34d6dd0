// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package step_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	"github.com/repave-io/cluster-api-provider-repave/agent/host"
	"github.com/repave-io/cluster-api-provider-repave/agent/join"
	"github.com/repave-io/cluster-api-provider-repave/agent/journal"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	"github.com/repave-io/cluster-api-provider-repave/agent/step/steptest"
	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// killed is how an agent dies in these tests: nothing of it runs after that.
type killed struct{}

// reaper kills at the n-th point that a life passes; 0: never.
type reaper struct{ left int }

func (r *reaper) point(string) {
	if r.left == 0 {
		return
	}
	if r.left--; r.left == 0 {
		panic(killed{})
	}
}

// mortalFiles are a host's files whose user may die before and after each write.
type mortalFiles struct {
	*host.Host
	reaper *reaper
}

func (f mortalFiles) WriteFile(name string, content []byte, mode fs.FileMode) error {
	f.reaper.point("before " + name)
	defer f.reaper.point("after " + name)
	return f.Host.WriteFile(name, content, mode)
}

// world outlives agents.
type world struct {
	box     *steptest.Box
	files   *host.Host
	wish    *infrav1.HostDesired
	secrets vault
	reaper  *reaper
}

// live is one life of an agent, from its start to a kill, a reboot, or nothing left to do.
func (w *world) live(t *testing.T) (g goal.Goal, dead bool) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case killed:
			dead = true
		default:
			panic(cause)
		}
	}()
	files := mortalFiles{Host: w.files, reaper: w.reaper}
	j, lost, err := journal.Open(files)
	if err != nil || lost {
		t.Fatalf("opening journal: lost %v, error %v", lost, err)
	}
	r := &step.Runner{
		Driver: w.box, Journal: j, Secrets: w.secrets, Joiner: &join.Joiner{Files: files, Secrets: w.secrets}, BootID: w.box.BootID(),
		Announce: func(context.Context) { w.reaper.point("announce") },
		Clock:    clocktesting.NewFakeClock(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler),
	}
	for range 20 {
		images, _ := w.box.Status(t.Context())
		booted, staged, rollback := images.Digests()
		memory, err := j.Update(func(m goal.Memory) goal.Memory { return m.Settle(r.BootID, booted, staged).See(w.wish) })
		if err != nil {
			t.Fatal(err)
		}
		g = goal.Resolve(goal.View{NodeName: "h1", Booted: booted, Staged: staged, Rollback: rollback, Wish: w.wish, Memory: memory})
		acted, err := r.Run(t.Context(), g.Steps)
		if err != nil {
			t.Fatal(err)
		}
		if !acted {
			return g, false
		}
	}
	t.Fatal("an agent that is never done")
	return g, false
}

func newWorld(t *testing.T, kill int) *world {
	files, err := host.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	data, err := json.Marshal(bootstrapv1.AgentJoin{Version: bootstrapv1.AgentJoinVersion, Token: "abcdef.0123456789abcdef", Cluster: struct {
		Name   string `json:"name"`
		Server string `json:"server"`
		CA     []byte `json:"ca"`
	}{Name: "c", Server: "https://10.0.0.1:6443", CA: []byte("ca")}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		box: steptest.New("sha256:old"), files: files, reaper: &reaper{left: kill},
		secrets: vault{"join": {bootstrapv1.SecretKey: data}},
		wish: &infrav1.HostDesired{
			Image: &infrav1.Image{Ref: "registry.example/os@sha256:new"}, State: infrav1.DesiredBooted,
			BootstrapDataSecretName: "join", ProviderID: "repave://ns/h1/m1",
		},
	}
	w.box.Point = w.reaper.point
	w.box.OnReboot = func() { panic(killed{}) }
	return w
}

// TestKilledAtEveryPoint walks all points of a whole in-place repave: at each of them one agent is killed, and the next ones
// go on from the journal.
func TestKilledAtEveryPoint(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(*world)
		acts    []string // what must have been carried out, each once
		booted  string
		failure *infrav1.AgentFailure
	}{
		{
			name: "an image that comes up", prepare: func(*world) {},
			acts: []string{"stage sha256:new", "boot sha256:new"}, booted: "sha256:new",
		},
		{
			name: "an image that does not come up", prepare: func(w *world) { w.box.Broken = []string{"sha256:new"} },
			acts: []string{"stage sha256:new", "boot sha256:new"}, booted: "sha256:old",
			failure: &infrav1.AgentFailure{Digest: "sha256:new", Stage: infrav1.FailedBoot, Reason: infrav1.ReasonRolledBack},
		},
		{
			name: "back to the image before", prepare: func(w *world) { w.box.Keep("sha256:new") },
			acts: []string{"rollback sha256:new"}, booted: "sha256:new",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for kill := 1; ; kill++ {
				w := newWorld(t, kill)
				test.prepare(w)
				var g goal.Goal
				dead := true
				for lives := 0; dead; lives++ {
					if lives > 4 {
						t.Fatalf("kill %d: no life comes to an end", kill)
					}
					g, dead = w.live(t)
				}
				where := fmt.Sprintf("kill at point %d", kill)
				if diff := cmp.Diff(test.acts, w.box.Calls()); diff != "" {
					t.Errorf("%s: acts (-want +got):\n%s", where, diff)
				}
				if images, _ := w.box.Status(t.Context()); images.Booted.Digest != test.booted {
					t.Errorf("%s: runs %s, want %s", where, images.Booted.Digest, test.booted)
				}
				if g.Failure != nil {
					g.Failure.Message = ""
				}
				if diff := cmp.Diff(test.failure, g.Failure); diff != "" {
					t.Errorf("%s: failure (-want +got):\n%s", where, diff)
				}
				if !(&join.Joiner{Files: w.files}).Joined(goal.Join{}) {
					t.Errorf("%s: the join is not whole", where)
				}
				if w.reaper.left > 0 { // nobody came so far as to be killed there
					t.Logf("walked %d points", kill-1)
					return
				}
			}
		})
	}
}
