// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo runs the story of the README on real components: etcd, kube-apiserver, kube-controller-manager, the Cluster API
// core manager and the three roles of Repave as processes with the permissions of the released manifests, and a fleet of six
// simulated servers behind real Redfish over HTTPS. It shows what happens, checks what must hold, and ends with a summary and
// exit status 0, or with the reason and another one.
//
// What enters are the environment (KEEP=1 leaves everything running) and the binaries in bin/; what leaves is the story. It
// drives the API as a person would and calls no controller.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// storyDeadline bounds the whole story, so that a demo that hangs says so.
const storyDeadline = 8 * time.Minute

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == "down":
		err = down()
	case len(args) == 1 && args[0] == inBackground:
		err = background()
	case len(args) > 0:
		err = fmt.Errorf("unknown argument %q; usage: demo [down]", args[0])
	case os.Getenv("KEEP") != "":
		err = keep()
	default:
		err = foreground()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	return 0
}

// foreground runs the story and takes everything down.
func foreground() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rig, err := tell(ctx)
	if rig != nil {
		rig.close()
	}
	return err
}

// tell sets the stage and runs the story on it. The rig is given back also with an error, to be closed.
func tell(ctx context.Context) (*rig, error) {
	ctx, cancel := context.WithTimeout(ctx, storyDeadline)
	defer cancel()
	started := time.Now()
	screen := newScreen(os.Stdout)
	r, err := setStage(ctx, screen)
	if err != nil {
		return r, errors.Join(fmt.Errorf("setting the stage: %w", err), r.keepLogs())
	}
	s := &story{rig: r, screen: screen}
	if err := s.run(ctx); err != nil {
		s.screen.finish()
		return r, errors.Join(err, r.keepLogs())
	}
	s.summary(time.Since(started))
	return r, nil
}
