// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const fetchingLayer = "fetching a layer"

// blob reads one layer from a registry, counting and hashing, and takes it up again where its connection broke.
// Whatever was read is to be believed only after verify.
type blob struct {
	ctx    context.Context
	src    *source
	layer  v1.Descriptor
	onRead func(n int64)

	body    io.ReadCloser
	offset  int64
	sum     hash.Hash
	resumes int
	failed  error
}

func (s *source) blob(ctx context.Context, layer v1.Descriptor, onRead func(n int64)) *blob {
	return &blob{ctx: ctx, src: s, layer: layer, onRead: onRead, sum: sha256.New()}
}

// Read implements io.Reader. Its errors stick: they come from the registry, not from what the bytes mean.
func (b *blob) Read(p []byte) (int, error) {
	for b.failed == nil {
		left := b.layer.Size - b.offset
		if left == 0 {
			return 0, io.EOF
		}
		if b.body == nil {
			b.failed = b.open()
			continue
		}
		n, err := b.body.Read(p[:min(int64(len(p)), left)])
		if n > 0 {
			b.sum.Write(p[:n])
			b.offset += int64(n)
			b.onRead(int64(n))
			return n, nil
		}
		if err != nil {
			b.close()
			b.failed = b.pause(err)
		}
	}
	return 0, b.failed
}

// open asks for the rest of the layer. Only a layer that was already flowing is asked for again after a refusal that
// may pass: the whole pull has its own back-off.
func (b *blob) open() error {
	header := http.Header{}
	if b.offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", b.offset, b.layer.Size-1))
	}
	resp, err := b.src.get(b.ctx, fetchingLayer, "/blobs/"+b.layer.Digest.String(), header, http.StatusOK, http.StatusPartialContent)
	if err != nil {
		if b.offset > 0 && KindOf(err) == Unreachable {
			return b.pause(err)
		}
		return err
	}
	if err := b.align(resp); err != nil {
		_ = resp.Body.Close()
		return err
	}
	b.body = resp.Body
	return nil
}

// align makes sure that the next byte of the answer is the one at offset: a server may ignore a range and begin
// anew, and bytes must never be appended on trust.
func (b *blob) align(resp *http.Response) error {
	if resp.StatusCode == http.StatusPartialContent {
		var first int64
		_, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &first)
		if err != nil || first != b.offset {
			return failure(Unreachable, "%s: the registry answered another range than asked for", fetchingLayer)
		}
		return nil
	}
	if resp.ContentLength >= 0 && resp.ContentLength != b.layer.Size {
		return failure(DigestMismatch, "layer %s has %d bytes instead of %d", b.layer.Digest, resp.ContentLength, b.layer.Size)
	}
	if _, err := io.CopyN(io.Discard, resp.Body, b.offset); err != nil {
		return b.pause(err)
	}
	return nil
}

// pause waits before the next try, or says why there is none.
func (b *blob) pause(broken error) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	if errors.Is(broken, io.EOF) {
		broken = io.ErrUnexpectedEOF
	}
	if b.resumes >= b.src.opts.Resumes {
		return exchange(fetchingLayer, broken)
	}
	wait := time.NewTimer(b.src.opts.ResumeDelay << b.resumes)
	defer wait.Stop()
	b.resumes++
	select {
	case <-wait.C:
		return nil
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	}
}

// verify reads what is left and compares the whole with the digest.
func (b *blob) verify() error {
	if _, err := io.Copy(io.Discard, b); err != nil {
		return err
	}
	if got := digestPrefix + hex.EncodeToString(b.sum.Sum(nil)); got != b.layer.Digest.String() {
		return failure(DigestMismatch, "layer %s came as %s", b.layer.Digest, got)
	}
	return nil
}

func (b *blob) close() {
	if b.body != nil {
		_ = b.body.Close()
		b.body = nil
	}
}
