// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"errors"
	"fmt"
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
)

// fetched is how far an image is, and when to look again where nobody will say that it changed.
type fetched struct {
	status infrav1.NetbootImageStatus
	again  time.Duration
}

// fetch asks the Store for the image of a host's operation.
func (f *Fetcher) fetch(ctx context.Context, host *infrav1.RepaveHost, digest string) (fetched, error) {
	if found, ok := f.Store.Lookup(digest); ok {
		return complete(found), nil
	}
	var wanted *infrav1.Image
	if host.Spec.Desired != nil && host.Spec.Desired.Netboot.Digest() == digest {
		wanted = &host.Spec.Desired.Netboot.Image
	}
	if wanted == nil {
		// The operation will be replaced by one for the image that is wanted now.
		return failed(digest, infrav1.ReasonNoNetbootImage, "the image of the operation is not wanted any more"), nil
	}
	creds, err := f.pullCredentials(ctx, host.Namespace, wanted)
	if problem, ok := errors.AsType[*secretProblem](err); ok {
		out := failed(digest, problem.reason, problem.Error())
		out.again = pullingAgain
		return out, nil
	}
	if err != nil {
		return fetched{}, err
	}
	return f.progress(digest, f.Store.Start(wanted.Ref, creds)), nil
}

func (f *Fetcher) progress(digest string, p image.Progress) fetched {
	switch p.State {
	case image.Complete:
		if found, ok := f.Store.Lookup(digest); ok {
			return complete(found)
		}
		return pulling(digest)
	case image.Failed:
		if p.Err == nil {
			return failed(digest, infrav1.ReasonImagePullFailed, "the image could not be fetched")
		}
		out := failed(digest, pullReason(p.Err.Kind), p.Err.Error())
		if !p.RetryAt.IsZero() {
			out.again = max(soonest, time.Until(p.RetryAt))
		}
		return out
	default:
		return pulling(digest)
	}
}

func complete(found image.Image) fetched {
	if err := bootable(found); err != nil {
		return failed(found.Digest, infrav1.ReasonImageInvalid, err.Error())
	}
	return fetched{status: infrav1.NetbootImageStatus{Digest: found.Digest, State: infrav1.ImageReady}}
}

func pulling(digest string) fetched {
	return fetched{status: infrav1.NetbootImageStatus{Digest: digest, State: infrav1.ImagePulling}, again: pullingAgain}
}

func failed(digest, reason, message string) fetched {
	return fetched{status: infrav1.NetbootImageStatus{Digest: digest, State: infrav1.ImageFailed, Reason: reason, Message: clip(message)}}
}

// pullReasons are the words of the API for what the Store says.
var pullReasons = map[image.Kind]string{
	image.InvalidReference: infrav1.ReasonImageInvalid,
	image.NotFound:         infrav1.ReasonImageNotFound,
	image.Unauthorized:     infrav1.ReasonImageUnauthorized,
	image.DigestMismatch:   infrav1.ReasonDigestMismatch,
	image.TooLarge:         infrav1.ReasonImageInvalid,
	image.BadLayout:        infrav1.ReasonImageInvalid,
	image.Unreachable:      infrav1.ReasonImagePullFailed,
	image.Storage:          infrav1.ReasonImagePullFailed,
}

func pullReason(kind image.Kind) string {
	if reason, ok := pullReasons[kind]; ok {
		return reason
	}
	return infrav1.ReasonImagePullFailed
}

// secretProblem is what a person must mend about a pull secret.
type secretProblem struct {
	reason string
	name   string
	what   string
}

func (p *secretProblem) Error() string { return fmt.Sprintf("pull secret %s %s", p.name, p.what) }
