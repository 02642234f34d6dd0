// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"fmt"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// serveImage serves a file of a complete image that some host names. Nobody asks who fetches it: an image is not a secret,
// and its reader verifies it by the digest of the plan.
func (s *Server) serveImage(w *recorded, r *http.Request, at route) {
	if err := s.file(w, r, at); err != nil {
		s.fail(w, r, at, err)
	}
}

func (s *Server) file(w http.ResponseWriter, r *http.Request, at route) error {
	if err := only(w, r, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	missing := answer(http.StatusNotFound, "not found")
	found, ok := s.Store.Lookup(at.digest)
	if !ok {
		return missing
	}
	file, ok := found.Files[at.path]
	if !ok {
		return missing
	}
	if named, err := s.named(r.Context(), at.digest); err != nil || !named {
		if err != nil {
			return err
		}
		return missing
	}
	content, err := found.Open(at.path)
	if err != nil {
		return fmt.Errorf("serving image: %w", err)
	}
	defer func() {
		if err := content.Close(); err != nil {
			ctrl.LoggerFrom(r.Context()).Error(err, "Closing a file of an image", "digest", at.digest)
		}
	}()
	longest := verbTimeout + time.Duration(file.Size/slowestFile)*time.Second
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longest))
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("ETag", `"sha256:`+file.SHA256+`"`)
	// Without a time, ServeContent goes by the ETag alone: files of a digest have no history.
	http.ServeContent(w, r, "", time.Time{}, content)
	return nil
}

// named says whether a host names an image by its digest. Hosts are read in place from the cache: a copy of all of them for
// each range of a download would cost more than the range.
func (s *Server) named(ctx context.Context, digest string) (bool, error) {
	hosts := &infrav1.RepaveHostList{}
	if err := s.Client.List(ctx, hosts, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing hosts: %w", err)
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		if operation := host.Status.Operation; operation != nil && operation.Digest == digest {
			return true, nil
		}
		if desired := host.Spec.Desired; desired != nil && desired.Netboot.Digest() == digest {
			return true, nil
		}
	}
	return false, nil
}
