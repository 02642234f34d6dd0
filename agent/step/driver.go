// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"context"
	"errors"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Driver is how the agent changes its host. The agent calls Stage, Boot and RollBack one at a time, and Status at any time, also
// while Stage runs. Errors end in the status of the host: they must hold no secret.
type Driver interface {
	// Name is what the host's status calls the driver.
	Name() string
	// Status says which images the host has. It is asked often and must be quick. An error means that nothing is known, not
	// that nothing runs.
	Status(ctx context.Context) (Status, error)
	// Stage brings an image onto the host beside the running one, disturbs nothing, and verifies its digest. Afterwards Status
	// shows it as staged. An interrupted Stage may be called again. Errors that trying again does not cure wrap ErrImageNotFound,
	// ErrUnauthorized, ErrDigestMismatch or ErrUnsupported.
	Stage(ctx context.Context, image Image) error
	// Boot arranges that the staged image with this digest boots next, and reboots. It returns when the reboot was asked for;
	// the agent then expects to be killed. Called again under the same boot ID it asks again. A host that does not come up
	// with the image must go back by itself.
	Boot(ctx context.Context, digest string) error
	// RollBack does as Boot, with the image that Status shows as rollback.
	RollBack(ctx context.Context) error
}

// Status is the images of a host; nil for none.
type Status struct {
	Booted   *Image
	Staged   *Image
	Rollback *Image
}

// Image is an image of a host.
type Image struct {
	Ref     string
	Digest  string // "sha256:…"
	Version string // that the image gives itself; "" for none
	// PullSecret is the content of a kubernetes.io/dockerconfigjson Secret, for Stage only; nil for none.
	PullSecret []byte
}

// What a driver's errors wrap so that the right reason is told.
var (
	ErrImageNotFound  = errors.New("the registry does not know the image")
	ErrUnauthorized   = errors.New("the registry refuses the pull credentials")
	ErrDigestMismatch = errors.New("the bytes are not those of the digest")
	ErrUnsupported    = errors.New("the driver of this host cannot do that")
)

// stageReason tells the reason of a failed Stage, and whether it may pass by itself.
func stageReason(err error) (reason string, passing bool) {
	switch {
	case errors.Is(err, ErrImageNotFound):
		return infrav1.ReasonImageNotFound, false
	case errors.Is(err, ErrUnauthorized):
		return infrav1.ReasonImageUnauthorized, false
	case errors.Is(err, ErrDigestMismatch):
		return infrav1.ReasonDigestMismatch, false
	case errors.Is(err, ErrUnsupported):
		return infrav1.ReasonUpdateFailed, false
	case errors.Is(err, ErrPullSecret):
		return infrav1.ReasonImageUnauthorized, true
	default:
		return infrav1.ReasonImagePullFailed, true
	}
}

// digestOf gives the digest of an image, "" for none.
func digestOf(image *Image) string {
	if image == nil {
		return ""
	}
	return image.Digest
}

// Digests gives the digests of the images of a host, "" for none.
func (s Status) Digests() (booted, staged, rollback string) {
	return digestOf(s.Booted), digestOf(s.Staged), digestOf(s.Rollback)
}
