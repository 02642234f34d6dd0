// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	"github.com/repave-io/cluster-api-provider-repave/agent/journal"
	"github.com/repave-io/cluster-api-provider-repave/agent/management"
	"github.com/repave-io/cluster-api-provider-repave/agent/report"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// announceWithin bounds the last word before a reboot: a host does not wait longer for an API that is away.
const announceWithin = 10 * time.Second

// agent is one life of an agent. Only the loop's goroutine touches it, but for what mu guards.
type agent struct {
	options  Options
	config   orderv1.AgentConfig
	api      *management.Client
	journal  *journal.Journal
	reporter *report.Reporter
	runner   *step.Runner
	bootID   string

	wishes   chan wish
	finished chan outcome
	// wished is nil until the host was read for the first time.
	wished *wish
	// stop ends the step in flight; nil: none.
	stop context.CancelFunc
	// missed is set where a step in flight kept another from being begun.
	missed bool
	// pause grows while steps fail.
	pause *wait.Backoff

	// mu keeps a report from being overtaken by one that was put together before it.
	mu   sync.Mutex
	seen sight
}

// sight is what reports are made of, beside the journal.
type sight struct {
	wish  wish
	facts report.Facts
}

// outcome is how a step ended.
type outcome struct {
	acted bool
	err   error
}

// loop looks, decides, says and does whenever something may have changed, until the context ends.
func (a *agent) loop(ctx context.Context) {
	timer := a.options.Clock.NewTimer(a.options.LookEvery)
	defer timer.Stop()
	a.pause = stepPause()
	for {
		again := true
		select {
		case <-ctx.Done():
			a.end()
			return
		case told := <-a.wishes:
			again = a.told(told)
		case ended := <-a.finished:
			var retry time.Duration
			if again, retry = a.ended(ctx, ended); retry > 0 {
				timer.Reset(retry)
			}
		case <-timer.C():
		}
		if again {
			a.turn(ctx)
			timer.Reset(a.options.LookEvery)
		}
	}
}

// told takes in a wish and says whether it is another one.
func (a *agent) told(told wish) bool {
	if a.wished != nil && equality.Semantic.DeepEqual(a.wished.desired, told.desired) {
		return false
	}
	a.wished, a.pause = &told, stepPause()
	return true
}

// ended takes in how a step ended. It says whether to look again at once, or else after what pause; 0: when it is time anyway.
func (a *agent) ended(ctx context.Context, ended outcome) (again bool, retry time.Duration) {
	again = a.missed || ended.acted && ended.err == nil
	a.stop, a.missed = nil, false
	if ended.err == nil || errors.Is(ended.err, context.Canceled) {
		return again, 0
	}
	a.options.Log.Warn("Carrying out a step; tried again where that helps", "error", ended.err)
	if !again {
		a.look(ctx) // the outcome may be final: it is reported at once
	}
	return again, a.pause.Step()
}

// turn looks at the host, says what is and does what is next.
func (a *agent) turn(ctx context.Context) {
	resolved, ok := a.look(ctx)
	if !ok {
		return
	}
	if act := a.journal.Memory().Act; a.stop != nil && act != nil && act.Verb == goal.VerbStage && !stages(resolved, act.Digest) {
		a.stop() // nobody wishes for that image any more
	}
	if a.stop != nil {
		a.missed = true
		return
	}
	if len(resolved.Steps) == 0 {
		return
	}
	var stepping context.Context
	stepping, a.stop = context.WithCancel(ctx)
	stop := a.stop
	go func() {
		defer stop()
		acted, err := a.runner.Run(stepping, resolved.Steps)
		a.finished <- outcome{acted: acted, err: err}
	}()
}

// end waits for the step in flight, whose context has ended with the loop's.
func (a *agent) end() {
	if a.stop != nil {
		<-a.finished
	}
}

// look takes in facts and images, brings the journal up to date with them, and reports. Nothing is decided on images that
// could not be read.
func (a *agent) look(ctx context.Context) (goal.Goal, bool) {
	if a.wished == nil {
		return goal.Goal{}, false
	}
	images, err := a.options.Driver.Status(ctx)
	if err != nil {
		a.options.Log.Warn("Asking the driver; nothing is decided until it answers", "error", err)
		return goal.Goal{}, false
	}
	addresses, err := a.options.Addresses()
	if err != nil {
		a.options.Log.Warn("Reading addresses", "error", err)
	}
	booted, staged, _ := images.Digests()
	if _, err := a.journal.Update(func(m goal.Memory) goal.Memory {
		return m.Settle(a.bootID, booted, staged).See(a.wished.desired)
	}); err != nil {
		a.options.Log.Error("Writing the journal; nothing is done without it", "error", err)
		return goal.Goal{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = sight{wish: *a.wished, facts: report.Facts{
		Version: a.options.Version, Driver: a.options.Driver.Name(), BootID: a.bootID, NodeName: a.config.Host.Name,
		Addresses: addresses, Images: images, Install: a.config.Install,
	}}
	return a.say(), true
}

// say wants the report of what was seen last and what the journal holds now. mu is held.
func (a *agent) say() goal.Goal {
	booted, staged, rollback := a.seen.facts.Images.Digests()
	resolved := goal.Resolve(goal.View{
		NodeName: a.config.Host.Name, Booted: booted, Staged: staged, Rollback: rollback,
		Wish: a.seen.wish.desired, Memory: a.journal.Memory(),
	})
	a.reporter.Want(report.Status(a.seen.facts, resolved))
	return resolved
}

// announce reports at once: the host is about to go down.
func (a *agent) announce(ctx context.Context) {
	a.mu.Lock()
	a.say()
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, announceWithin)
	defer cancel()
	if err := a.reporter.Flush(ctx); err != nil {
		a.options.Log.Warn("Reporting before the reboot", "error", err)
	}
}

// stages says whether a goal still wants an image brought onto the host.
func stages(g goal.Goal, digest string) bool {
	for _, each := range g.Steps {
		if s, ok := each.(goal.Stage); ok && s.Image.Digest == digest {
			return true
		}
	}
	return false
}

func stepPause() *wait.Backoff {
	return &wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 7, Cap: time.Minute}
}
