// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// State is how far a drain is.
type State string

// The states of a drain.
const (
	// None: no drain was begun, or a restart forgot it; beginning it again is harmless.
	None State = ""
	// Running: pods are being moved away.
	Running State = "Running"
	// Blocked: pods refuse to go, or the cluster does not answer; it is tried again without being asked to.
	Blocked State = "Blocked"
	// Done: the pods are gone that have to go.
	Done State = "Done"
)

// Progress is how far a drain is and, when it is blocked, by what. The message is the same for the same obstacle.
type Progress struct {
	State   State
	Message string
}

// Options of the hands.
type Options struct {
	// Poll is the pause between two looks at pods that are going; default 1 s.
	Poll time.Duration
	// Retry is the pause after pods refused to go; default 5 s.
	Retry time.Duration
	// Clock for pauses and timeouts; default the real one.
	Clock clock.Clock
}

// drains are the drains of this process, by machine.
type drains struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
	wakes   chan event.GenericEvent

	mu   sync.Mutex
	runs map[client.ObjectKey]*run
}

// run is the drain of one Node for one machine.
type run struct {
	goal     goal
	cancel   context.CancelFunc
	progress Progress
}

// goal is what a drain was asked for.
type goal struct {
	cluster client.ObjectKey
	node    string
	options infrav1.DrainOptions
}

// same says whether two goals ask for the same.
func (g goal) same(other goal) bool {
	grace := func(o infrav1.DrainOptions) int { return gracePeriod(o) }
	return g.cluster == other.cluster && g.node == other.node && grace(g.options) == grace(other.options) &&
		g.options.Timeout == other.options.Timeout && g.options.Force == other.options.Force &&
		g.options.DeleteEmptyDirData == other.options.DeleteEmptyDirData
}

// New makes the hands. Add them to the manager: drains end with Start.
func New(clusters Clusters, options Options) *Workload {
	if options.Poll == 0 {
		options.Poll = time.Second
	}
	if options.Retry == 0 {
		options.Retry = 5 * time.Second
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Workload{clusters: clusters, drains: drains{
		options: options, ctx: ctx, stop: stop, wakes: make(chan event.GenericEvent, 1024), runs: map[client.ObjectKey]*run{},
	}}
}

// Start ends all drains with the manager and waits for them.
func (w *Workload) Start(ctx context.Context) error {
	<-ctx.Done()
	w.drains.stop()
	w.drains.group.Wait()
	return nil
}

// Wakes carries a RepaveMachine, with name and namespace only, whenever the progress of its drain changes.
func (w *Workload) Wakes() <-chan event.GenericEvent { return w.drains.wakes }

// Drain begins to move the pods off a Node for a machine, in the background. A drain that runs already goes on, unless it was
// asked for differently.
func (w *Workload) Drain(machine, cluster client.ObjectKey, node string, options infrav1.DrainOptions) {
	d := &w.drains
	wanted := goal{cluster: cluster, node: node, options: options}
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.runs[machine]; old != nil {
		if old.goal.same(wanted) {
			return
		}
		old.cancel()
	}
	ctx, cancel := context.WithCancel(d.ctx)
	r := &run{goal: wanted, cancel: cancel, progress: Progress{State: Running}}
	d.runs[machine] = r
	d.group.Go(func() {
		defer cancel()
		w.empty(ctx, machine, r)
	})
}

// Progress is how far the drain for a machine is.
func (w *Workload) Progress(machine client.ObjectKey) Progress {
	w.drains.mu.Lock()
	defer w.drains.mu.Unlock()
	if r := w.drains.runs[machine]; r != nil {
		return r.progress
	}
	return Progress{}
}

// Cancel ends and forgets the drain for a machine.
func (w *Workload) Cancel(machine client.ObjectKey) {
	w.drains.mu.Lock()
	defer w.drains.mu.Unlock()
	if r := w.drains.runs[machine]; r != nil {
		r.cancel()
		delete(w.drains.runs, machine)
	}
}

// report notes the progress of a drain and wakes its machine, when it changed and the drain is still wanted.
func (d *drains) report(ctx context.Context, machine client.ObjectKey, r *run, progress Progress) {
	d.mu.Lock()
	changed := d.runs[machine] == r && r.progress != progress
	if changed {
		r.progress = progress
	}
	d.mu.Unlock()
	if !changed {
		return
	}
	wake := &infrav1.RepaveMachine{ObjectMeta: metav1.ObjectMeta{Namespace: machine.Namespace, Name: machine.Name}}
	select {
	case d.wakes <- event.GenericEvent{Object: wake}:
	case <-ctx.Done():
	}
}

// clientset connects to a workload cluster. It is made anew for each round, because certificates and addresses change during
// drains that last for days.
func (w *Workload) clientset(ctx context.Context, cluster client.ObjectKey) (kubernetes.Interface, error) {
	config, err := w.clusters.GetRESTConfig(ctx, cluster)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %s: %w", cluster, err)
	}
	return clientset, nil
}
