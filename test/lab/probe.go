// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// portAttempts is how often a server is started again when its port was taken between choosing and listening.
const portAttempts = 3

// FreePort is a TCP port of 127.0.0.1 that nobody listens on now. Somebody else may take it before it is used: be ready
// to choose again.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("choosing port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// freePorts are n different ones: all are held until the last is chosen.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("choosing port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// portTaken says whether a process that ended did so because somebody else listens on its port.
func portTaken(p *Process, err error) bool {
	if !errors.Is(err, ErrExited) {
		return false
	}
	log, readErr := os.ReadFile(p.log)
	return readErr == nil && strings.Contains(string(log), "address already in use")
}

// Answers is a probe for Await: url must answer 200.
func Answers(url string) func(context.Context) error {
	return answers(&http.Client{Timeout: 5 * time.Second}, url)
}

func answers(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

// tlsConfig trusts one authority only, so that an answer proves that the server belongs to this lab and not to another one
// that took the port in between.
func (a *authority) tlsConfig() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.parsed)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// client asks over HTTPS with a connection per question, so that nothing stays open behind a server that stops.
func (a *authority) client(certificate ...tls.Certificate) *http.Client {
	config := a.tlsConfig()
	config.Certificates = certificate
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
	}
}
