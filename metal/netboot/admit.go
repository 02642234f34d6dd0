// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// nobody stands for the UID of a host that does not exist, so that a request for one takes as long as any other.
const nobody = types.UID("00000000-0000-0000-0000-000000000000")

// verify is Key.VerifyToken or Key.VerifyCredential.
type verify func(hostUID, order, secret string) bool

// admit gives the host of a request as the API server has it now, if the secret is that of the host's order. Strangers cost
// a look into the cache and one HMAC; only who has a secret reaches the API server.
func (s *Server) admit(ctx context.Context, at route, secret string, ok verify) (*infrav1.RepaveHost, error) {
	key := types.NamespacedName{Namespace: at.namespace, Name: at.host}
	known := &infrav1.RepaveHost{}
	err := s.Client.Get(ctx, key, known)
	if apierrors.IsNotFound(err) || (err == nil && known.UID == "") {
		ok(string(nobody), at.order, secret)
		return nil, refusedFor(refusedUnknownHost, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("reading host: %w", err)
	}
	if !ok(string(known.UID), at.order, secret) {
		return nil, refusedFor(refusedWrongSecret, known)
	}
	return s.live(ctx, known)
}

// live reads a host past the cache: between two looks of the cache, an order may have been redeemed or replaced.
func (s *Server) live(ctx context.Context, known *infrav1.RepaveHost) (*infrav1.RepaveHost, error) {
	host := &infrav1.RepaveHost{}
	err := s.APIReader.Get(ctx, types.NamespacedName{Namespace: known.Namespace, Name: known.Name}, host)
	if apierrors.IsNotFound(err) || (err == nil && host.UID != known.UID) {
		return nil, refusedFor(refusedUnknownHost, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("reading host: %w", err)
	}
	return host, nil
}
