// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

var (
	errStalled   = errors.New("the registry stopped answering")
	errPlainHTTP = errors.New("plain HTTP is not allowed for this registry")
	errRedirect  = errors.New("the registry redirects to a place it must not")
)

// maxRedirects is net/http's own limit, which a CheckRedirect of one's own switches off.
const maxRedirects = 10

// source is one repository of a registry, with the authentication done.
type source struct {
	ref    Ref
	base   string
	client *http.Client
	opts   *Options
}

// connect pings the registry and authenticates.
func connect(ctx context.Context, ref Ref, creds Credentials, opts *Options) (*source, error) {
	var nameOpts []name.Option
	if opts.plainHTTP(ref.Registry) {
		nameOpts = append(nameOpts, name.Insecure)
	}
	repository, err := name.NewRepository(ref.Registry+"/"+ref.Repository, nameOpts...)
	if err != nil {
		return nil, failure(InvalidReference, "the name is not that of a repository in a registry")
	}
	auth := authn.Anonymous
	if creds != (Credentials{}) {
		auth = &authn.Basic{Username: creds.Username, Password: creds.Password}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Stall, errStalled)
	defer cancel()
	guarded := &guard{inner: opts.Transport, opts: opts}
	scopes := []string{repository.Scope(transport.PullScope)}
	authenticated, err := transport.NewWithContext(ctx, repository.Registry, auth, guarded, scopes)
	if err != nil {
		return nil, exchange("connecting to the registry", err)
	}
	return &source{
		ref:    ref,
		base:   fmt.Sprintf("%s://%s/v2/%s", repository.Scheme(), repository.RegistryStr(), repository.RepositoryStr()),
		client: &http.Client{Transport: authenticated, CheckRedirect: checkRedirect},
		opts:   opts,
	}, nil
}

// get asks for one thing of the repository. An answer that is not one of statuses is an *Error. The body, and the
// wait for it, are given up when nothing comes for Options.Stall.
func (s *source) get(ctx context.Context, doing, path string, header http.Header, statuses ...int) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(s.opts.Stall, func() { cancel(errStalled) })
	stop := func() { watch.Stop(); cancel(nil) }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		stop()
		return nil, failure(InvalidReference, "the name is not that of a repository in a registry")
	}
	req.Header = header
	// The digests are of the bytes as stored: nobody may compress them on the way.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := s.client.Do(req)
	if err != nil {
		stop()
		return nil, exchange(doing, causeOf(ctx, err))
	}
	for _, status := range statuses {
		if resp.StatusCode == status {
			resp.Body = &watchedBody{ReadCloser: resp.Body, ctx: ctx, stall: s.opts.Stall, watch: watch, stop: stop}
			return resp, nil
		}
	}
	_ = resp.Body.Close()
	stop()
	return nil, answered(doing, resp.StatusCode)
}

// causeOf prefers why a context was cancelled to the fact that it was.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// watchedBody gives a body up when it stalls.
type watchedBody struct {
	io.ReadCloser
	ctx   context.Context
	stall time.Duration
	watch *time.Timer
	stop  func()
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.Reset(b.stall)
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = causeOf(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.stop()
	return err
}

// guard keeps every request, redirects and token fetches included, off plain HTTP. go-containerregistry itself
// falls back to it for private address ranges, and would send credentials there.
type guard struct {
	inner http.RoundTripper
	opts  *Options
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !g.opts.plainHTTP(req.URL.Host) {
		return nil, errPlainHTTP
	}
	return g.inner.RoundTrip(req)
}

// checkRedirect lets a registry send us to its blob store, but not to the services of this machine or link, such as
// a cloud's metadata address.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errRedirect
	}
	host := req.URL.Hostname()
	if host == via[0].URL.Hostname() {
		return nil
	}
	ip := net.ParseIP(host)
	if host == "localhost" || (ip != nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified())) {
		return errRedirect
	}
	return nil
}
