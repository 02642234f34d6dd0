// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// watchAtMost is after what time the host is read afresh. A watch that went silent costs no more than this; a renewed
// certificate is in use everywhere after it.
const watchAtMost = 5 * time.Minute

// wish is what the spec of the host wishes; nil desired: nothing.
type wish struct {
	desired *infrav1.HostDesired
}

// wishOf is what a host is wished by its spec. How to join is for what the claim installed only: a host whose network boot
// failed runs the disk of the claim before, and must not join the cluster of this one. The image stays in the wish, so that a
// status that was lost for a moment makes no new wish of an old one.
func wishOf(host *infrav1.RepaveHost) wish {
	desired := host.Spec.Desired.DeepCopy()
	if desired != nil && host.Status.Installed != desired.ProviderID {
		desired.BootstrapDataSecretName = ""
	}
	return wish{desired: desired}
}

// errEnded says that a watch came to its end in good order.
var errEnded = errors.New("the watch ended")

// follow keeps telling the loop what is wished of the host.
func (a *agent) follow(ctx context.Context) {
	pause := followPause()
	for ctx.Err() == nil {
		err := a.followOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errEnded) {
			pause = followPause()
		} else {
			a.options.Log.Warn("Following the host; tried again", "error", err)
		}
		timer := a.options.Clock.NewTimer(pause.Step())
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
}

// followOnce reads the host and follows it as long as the watch lasts.
func (a *agent) followOnce(ctx context.Context) error {
	host, err := a.api.Host(ctx)
	if err != nil {
		return err
	}
	if !a.tell(ctx, host) {
		return ctx.Err()
	}
	changes, err := a.api.Watch(ctx, host.ResourceVersion, watchAtMost)
	if err != nil {
		return err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		switch event.Type {
		case watch.Added, watch.Modified:
			if host, ok := event.Object.(*infrav1.RepaveHost); ok && !a.tell(ctx, host) {
				return ctx.Err()
			}
		case watch.Error:
			return apierrors.FromObject(event.Object)
		case watch.Deleted, watch.Bookmark:
			// A deleted host wishes nothing new; the next read says so and keeps trying.
		}
	}
	return errEnded
}

// tell hands a wish to the loop. It says whether the loop still listens.
func (a *agent) tell(ctx context.Context, host *infrav1.RepaveHost) bool {
	a.reporter.Seen(host.Status.Agent, host.ResourceVersion)
	select {
	case a.wishes <- wishOf(host):
		return true
	case <-ctx.Done():
		return false
	}
}

func followPause() *wait.Backoff {
	return &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 9, Cap: 30 * time.Second}
}
