// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// mostAnswer bounds what is read of an answer.
const mostAnswer = 256 << 10

// Identity is that of one host.
type Identity struct {
	Host  orderv1.Host
	Files Files
	Clock clock.Clock
	Log   *slog.Logger
}

// errWait says that the certificate is being signed.
type errWait struct{ after time.Duration }

func (e errWait) Error() string { return "the certificate is being signed" }

// Enrol asks for the host's first certificate until it gets it or the context ends. The credential goes to the URL of the
// enrolment and nowhere else, redirects included.
func (i *Identity) Enrol(ctx context.Context, enrolment orderv1.Enrolment, web *http.Client) (tls.Certificate, error) {
	p, err := i.ask()
	if err != nil {
		return tls.Certificate{}, err
	}
	asking := *web
	asking.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	i.Log.Info("Asking for the first certificate", "url", enrolment.URL)
	pause := backoff()
	for {
		answer, err := post(ctx, &asking, enrolment, p.csr)
		if err == nil {
			return i.accept(p, answer)
		}
		next := pause.Step()
		if signing := (errWait{}); errors.As(err, &signing) {
			next, pause = signing.after, backoff()
		} else if ctx.Err() == nil {
			i.Log.Warn("Asking for the first certificate; tried again", "error", err)
		}
		if err := i.sleep(ctx, next); err != nil {
			return tls.Certificate{}, fmt.Errorf("asking for the first certificate: %w", err)
		}
	}
}

// post sends the request once. Errors hold no word of the answer: a server that echoes would put the credential in the log.
func post(ctx context.Context, web *http.Client, enrolment orderv1.Enrolment, csr []byte) ([]byte, error) {
	body, err := json.Marshal(orderv1.CertificateRequest{CSR: csr})
	if err != nil {
		return nil, fmt.Errorf("encoding request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, enrolment.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL of the enrolment cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+enrolment.Credential)
	response, err := web.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written
	switch response.StatusCode {
	case http.StatusOK:
		var answer orderv1.Certificate
		if err := json.NewDecoder(io.LimitReader(response.Body, mostAnswer)).Decode(&answer); err != nil {
			return nil, errors.New("the answer is not a certificate")
		}
		return answer.Certificate, nil
	case http.StatusAccepted:
		return nil, errWait{after: retryAfter(response.Header.Get("Retry-After"))}
	default:
		return nil, fmt.Errorf("the server answers %d", response.StatusCode)
	}
}

// retryAfter reads the pause that a server asks for: 1 s where it says nothing, at most a minute.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil {
		return time.Second
	}
	return min(max(time.Duration(seconds)*time.Second, time.Second), time.Minute)
}

func (i *Identity) sleep(ctx context.Context, pause time.Duration) error {
	timer := i.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return ctx.Err()
	}
}

func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 7, Cap: time.Minute}
}
