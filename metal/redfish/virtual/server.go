// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options of one Server. Username, Password and Machine are required.
type Options struct {
	Username, Password string

	// Identity as the System reports it. Defaults: "Repave", "Virtual Server", "VIRTUAL0001" and a nil-like UUID.
	Manufacturer, Model, Serial, UUID string

	SystemID string // last part of the System's URI; default "1"

	// ResetDelay passes between the acceptance of a reset (204) and its effect; 0 applies it before answering.
	ResetDelay time.Duration

	// MaxSessions is the cap after which logins get 503, as on real BMCs; default 8.
	MaxSessions int

	// SessionTimeout ends sessions not used for so long; 0 keeps them until deleted.
	SessionTimeout time.Duration

	// NoHTTPBoot leaves out HttpBootUri and the UefiHttp target, as OpenBMC and iDRAC do.
	NoHTTPBoot bool

	// BasicOnly leaves out the session service, as sushy-tools does.
	BasicOnly bool

	// Plain serves HTTP without TLS, as lab BMCs and emulators do.
	Plain bool

	Machine     Machine
	Listen      string           // host:port; default 127.0.0.1:0
	Certificate *tls.Certificate // default: self-signed, made at start
}

func (o *Options) complete() error {
	switch {
	case o.Username == "" || o.Password == "":
		return errors.New("starting a virtual BMC: an account is required")
	case o.Machine == nil:
		return errors.New("starting a virtual BMC: a machine is required")
	}
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&o.Manufacturer, "Repave")
	fill(&o.Model, "Virtual Server")
	fill(&o.Serial, "VIRTUAL0001")
	fill(&o.UUID, "00000000-0000-4000-8000-000000000001")
	fill(&o.SystemID, "1")
	fill(&o.Listen, "127.0.0.1:0")
	if o.MaxSessions == 0 {
		o.MaxSessions = 8
	}
	return nil
}

// Server is one running Redfish service. All its methods may be called from any goroutine.
type Server struct {
	options     Options
	address     string
	http        *http.Server
	certificate atomic.Pointer[tls.Certificate]
	faults      Faults
	closed      chan struct{}
	served      chan struct{}
	closeOnce   sync.Once

	requests, inFlight, mostAtOnce atomic.Int64

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	boot     override
	pending  *time.Timer // a reset accepted and not yet applied
	sessions map[string]*session
	lastID   int
	journal  []ResetEvent
}

// New starts a service; it answers when New returns. Close it.
func New(options Options) (*Server, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("starting a virtual BMC: %w", err)
	}
	s := &Server{
		options:  options,
		address:  listener.Addr().String(),
		closed:   make(chan struct{}),
		served:   make(chan struct{}),
		conns:    map[net.Conn]struct{}{},
		boot:     override{target: bootTargetNone, enabled: overrideDisabled, mode: "UEFI"},
		sessions: map[string]*session{},
	}
	s.faults.server = s
	certificate := options.Certificate
	if certificate == nil {
		certificate, err = selfSigned(options.Serial, listener.Addr().(*net.TCPAddr).IP)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("starting a virtual BMC: %w", err), listener.Close())
		}
	}
	s.certificate.Store(certificate)
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ConnState:         s.track,
		ErrorLog:          log.New(io.Discard, "", 0), // clients that refuse our certificate are the point of some tests
	}
	if !options.Plain {
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate.Load(), nil },
		})
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // always ends with ErrServerClosed, by Close
	}()
	return s, nil
}

// URL is the address of the service without a path, such as https://127.0.0.1:40001.
func (s *Server) URL() string {
	if s.options.Plain {
		return "http://" + s.address
	}
	return "https://" + s.address
}

// Fingerprint is the SHA-256 of the present leaf certificate in lower-case hex.
func (s *Server) Fingerprint() string { return fingerprint(s.certificate.Load()) }

// CertificatePEM is the present leaf certificate, for clients that trust by CA.
func (s *Server) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate.Load().Certificate[0]})
}

// Faults switches misbehaviour on and off.
func (s *Server) Faults() *Faults { return &s.faults }

// Close stops answering, drops connections and forgets a reset not yet applied.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.mu.Lock()
		if s.pending != nil {
			s.pending.Stop()
		}
		s.mu.Unlock()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.http.Shutdown(ctx) // stops the listener; connections in use are cut below
		_ = s.http.Close()
		<-s.served
	})
}

func (s *Server) track(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[conn] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, conn)
	}
}

// restart is what a BMC's web server does when it gets another certificate: all connections and sessions are gone.
func (s *Server) restart(certificate *tls.Certificate) {
	s.certificate.Store(certificate)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
	for conn := range s.conns {
		_ = conn.Close()
	}
}
