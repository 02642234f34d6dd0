// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts/status,verbs=patch
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests,verbs=create;get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Server answers hosts. It is an http.Handler and a Runnable of a manager that needs no leadership: every replica could
// answer, as all that is remembered is in the API.
type Server struct {
	Options
	urls     order.URLs
	refusals refusals
}

// New checks the options and makes a server.
func New(options Options) (*Server, error) {
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("configuring netboot server: %w", err)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Server{
		Options:  options,
		urls:     order.URLs{Base: options.BaseURL, Key: options.Key},
		refusals: newRefusals(options.Now),
	}, nil
}

// NeedLeaderElection is false: hosts are answered by whoever is there.
func (s *Server) NeedLeaderElection() bool { return false }

// Start listens and serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("listening for netboot requests: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve serves on a listener until ctx ends; the listener is closed then. Requests under way get a few seconds to end.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	log := ctrl.LoggerFrom(ctx).WithName("netboot")
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return ctrl.LoggerInto(context.WithoutCancel(ctx), log) },
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(log.V(2)), slog.LevelInfo),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	log.V(2).Info("Serving netboot", "address", listener.Addr().String())
	select {
	case err := <-ended:
		return fmt.Errorf("serving netboot requests: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ending netboot server: %w", err)
	}
	return server.Close()
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &recorded{ResponseWriter: w}
	at, ok := parseRoute(r.URL.EscapedPath())
	if !ok {
		at.verb = verbOther
	}
	// Deferred: a handler that panics was a request as well, counted by the status it had got to.
	defer out.count(at.verb)
	header := out.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if at.verb == verbImage {
		s.serveImage(out, r, at)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), verbTimeout)
	defer cancel()
	_ = http.NewResponseController(out).SetWriteDeadline(time.Now().Add(2 * verbTimeout))
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(out, r.Body, maxBodyBytes)
	if err := s.serveVerb(out, r, at); err != nil {
		s.fail(out, r, at, err)
	}
}

func (s *Server) serveVerb(w http.ResponseWriter, r *http.Request, at route) error {
	switch at.verb {
	case orderv1.VerbBoot:
		return s.boot(w, r, at)
	case orderv1.VerbPlan:
		return s.plan(w, r, at)
	case orderv1.VerbFailure:
		return s.failure(w, r, at)
	case orderv1.VerbCertificate:
		return s.certificate(w, r, at)
	default:
		return answer(http.StatusNotFound, "not found")
	}
}
