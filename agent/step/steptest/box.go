// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steptest is a host in memory, with a driver, for tests of the agent.
//
// What enters are the images that it is to have and the faults that it is to show; what leaves are the calls that reached it.
// Like a disk, it outlives the agents that run on it. It must not know who asks.
package steptest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/repave-io/cluster-api-provider-repave/agent/step"
)

// Box is the host. Set the exported fields before it is used; methods may be called from any goroutine.
type Box struct {
	// Broken images do not come up: the host goes back by itself.
	Broken []string
	// StageErrors are what the next calls of Stage end with, one each.
	StageErrors []error
	// StageGate, where set, keeps Stage waiting until it is closed or the context ends.
	StageGate chan struct{}
	// Point is called at each point at which an agent may be killed.
	Point func(name string)
	// OnReboot is called when the host went down and came up again: the agent that asked for it is no more.
	OnReboot func()

	mu     sync.Mutex
	images step.Status
	boots  int
	calls  []string
	pulls  [][]byte
}

var _ step.Driver = (*Box)(nil)

// New makes a host that runs an image.
func New(booted string) *Box {
	return &Box{images: step.Status{Booted: &step.Image{Digest: booted}}}
}

// Name of the driver.
func (*Box) Name() string { return "box" }

// BootID is another one after each boot.
func (b *Box) BootID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("boot-%d", b.boots)
}

// Calls are the acts that were carried out, in their order.
func (b *Box) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Pulls are the pull secrets that Stage was given.
func (b *Box) Pulls() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pulls)
}

// Keep gives the host an image to go back to.
func (b *Box) Keep(digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.images.Rollback = &step.Image{Digest: digest}
}

// Status says what the host has.
func (b *Box) Status(context.Context) (step.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.images, nil
}

// Stage brings an image onto the host.
func (b *Box) Stage(ctx context.Context, image step.Image) error {
	b.point("before stage")
	if b.StageGate != nil {
		select {
		case <-b.StageGate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.mu.Lock()
	b.calls = append(b.calls, "stage "+image.Digest)
	b.pulls = append(b.pulls, image.PullSecret)
	var err error
	if len(b.StageErrors) > 0 {
		err, b.StageErrors = b.StageErrors[0], b.StageErrors[1:]
	}
	if err == nil {
		image.PullSecret = nil
		b.images.Staged = &image
	}
	b.mu.Unlock()
	b.point("after stage")
	return err
}

// Boot boots the staged image.
func (b *Box) Boot(_ context.Context, digest string) error {
	b.point("before boot")
	b.mu.Lock()
	b.calls = append(b.calls, "boot "+digest)
	b.reboot(b.images.Staged)
	b.images.Staged = nil
	b.mu.Unlock()
	b.point("after boot")
	b.down()
	return nil
}

// RollBack boots the image to go back to.
func (b *Box) RollBack(context.Context) error {
	b.point("before rollback")
	b.mu.Lock()
	b.calls = append(b.calls, "rollback "+b.images.Rollback.Digest)
	b.reboot(b.images.Rollback)
	b.mu.Unlock()
	b.point("after rollback")
	b.down()
	return nil
}

// reboot boots an image, unless that does not come up. mu is held.
func (b *Box) reboot(into *step.Image) {
	b.boots++
	if into != nil && !slices.Contains(b.Broken, into.Digest) {
		b.images.Booted, b.images.Rollback = into, b.images.Booted
	}
}

func (b *Box) point(name string) {
	if b.Point != nil {
		b.Point(name)
	}
}

func (b *Box) down() {
	if b.OnReboot != nil {
		b.OnReboot()
	}
}
