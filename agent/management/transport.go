// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// transport sends with the certificate it was given last. A connection keeps the certificate it was opened with, and the API
// server goes by that: hence another certificate means other connections.
type transport struct {
	roots   *x509.CertPool
	current atomic.Pointer[http.Transport]
}

func newTransport(ca []byte, certificate tls.Certificate) (*transport, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("reading the CA of the API server: no certificate in it")
	}
	t := &transport{roots: roots}
	t.use(certificate)
	return t, nil
}

// use sends with another certificate from now on. Requests under way end on their old connections.
func (t *transport) use(certificate tls.Certificate) {
	next := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: t.roots, Certificates: []tls.Certificate{certificate},
		},
	}
	// A connection that went dead without a word is found out well before the Lease expires.
	next.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}
	if old := t.current.Swap(next); old != nil {
		old.CloseIdleConnections()
	}
}

// RoundTrip sends one request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.current.Load().RoundTrip(request)
}

func (t *transport) close() { t.current.Load().CloseIdleConnections() }
