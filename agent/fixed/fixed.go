// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fixed is the driver of a host that nothing but a netboot repave changes. It is called "none".
//
// What enters is the image that the last install left; what leaves is that same image as the one that runs. Whoever asks it to
// change the host gets step.ErrUnsupported, which ends as a failure in the host's status. It touches nothing.
package fixed

import (
	"context"
	"fmt"
	"strings"

	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// Name of the driver.
const Name = "none"

// Driver of one host.
type Driver struct {
	install orderv1.Install
}

var _ step.Driver = (*Driver)(nil)

// New gives the driver of the host with this install.
func New(install orderv1.Install) *Driver { return &Driver{install: install} }

// Name is "none".
func (*Driver) Name() string { return Name }

// Status is the OS image of the install, or the netboot image where that does not name an OS image.
func (d *Driver) Status(context.Context) (step.Status, error) {
	if _, digest, pinned := strings.Cut(d.install.OSImage, "@"); pinned {
		return step.Status{Booted: &step.Image{Ref: d.install.OSImage, Digest: digest}}, nil
	}
	if d.install.Digest == "" {
		return step.Status{}, nil
	}
	return step.Status{Booted: &step.Image{Digest: d.install.Digest}}, nil
}

// Stage is not for this host.
func (*Driver) Stage(context.Context, step.Image) error { return unsupported("stage an image") }

// Boot is not for this host.
func (*Driver) Boot(context.Context, string) error { return unsupported("boot another image") }

// RollBack is not for this host.
func (*Driver) RollBack(context.Context) error { return unsupported("roll back") }

func unsupported(what string) error {
	return fmt.Errorf("driver %s cannot %s, use a netboot repave: %w", Name, what, step.ErrUnsupported)
}
