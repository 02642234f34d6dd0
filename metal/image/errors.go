// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Kind says what went wrong in the terms of who can mend it.
type Kind string

const (
	// InvalidReference: the reference is not of the form registry/name@sha256:…; the wish must change.
	InvalidReference Kind = "InvalidReference"
	// NotFound: the registry does not have the image or a part of it.
	NotFound Kind = "NotFound"
	// Unauthorized: the registry wants (other) credentials.
	Unauthorized Kind = "Unauthorized"
	// DigestMismatch: the registry sent other bytes than the digest promises.
	DigestMismatch Kind = "DigestMismatch"
	// TooLarge: the image goes beyond a limit of Options.
	TooLarge Kind = "TooLarge"
	// BadLayout: the image is what was asked for, but it is no netboot image.
	BadLayout Kind = "BadLayout"
	// Unreachable: the registry did not answer, or not to the end. Trying again may help.
	Unreachable Kind = "Unreachable"
	// Storage: the local disk refused.
	Storage Kind = "Storage"
)

// Error is every error of this package but the caller's own context's. Its text is the same for the same cause (no
// ports, times, temporary names) and holds no credentials, so that it can stand in a condition.
type Error struct {
	Kind Kind
	// Ref is the reference asked for; empty when it could hold a secret.
	Ref string
	// Detail says what was seen, without the reference.
	Detail string

	cause error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Ref == "" {
		return "pulling image: " + e.Detail
	}
	return fmt.Sprintf("pulling image %s: %s", e.Ref, e.Detail)
}

// Unwrap gives the cause, when there is one. Its text may hold addresses; it is for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.cause }

// KindOf is the Kind of err, empty when it is not of this package.
func KindOf(err error) Kind {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed.Kind
	}
	return ""
}

// failure makes an Error without reference; the pull adds it once at the end.
func failure(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// storage reports an error of the local disk: the operation and the errno, not the temporary path.
func storage(doing string, err error) *Error {
	reason := err
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		reason = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		reason = link.Err
	}
	return &Error{Kind: Storage, Detail: fmt.Sprintf("%s: %v", doing, reason), cause: reason}
}

// exchange reports an error of talking with the registry, in fixed words: the texts of net and net/url carry
// ephemeral ports and, after a redirect, signed URLs.
func exchange(doing string, err error) *Error {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return answered(doing, answer.StatusCode)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &Error{Kind: Unreachable, Detail: doing + ": " + reasonOf(err), cause: err}
}

// answered reports an HTTP status that is not the one hoped for.
func answered(doing string, status int) *Error {
	kind, text := Unreachable, http.StatusText(status)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = Unauthorized
	case http.StatusNotFound, http.StatusGone:
		kind = NotFound
	}
	return failure(kind, "%s: the registry answered %d %s", doing, status, text)
}

func reasonOf(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, errStalled), errors.Is(err, context.DeadlineExceeded):
		return "the registry stopped answering"
	case is[*net.DNSError](err):
		return "the name of the registry is not known"
	case is[*tls.CertificateVerificationError](err), is[x509.UnknownAuthorityError](err), is[x509.HostnameError](err):
		return "the certificate of the registry is not trusted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the registry"
	case errors.Is(err, errPlainHTTP):
		return errPlainHTTP.Error()
	case errors.Is(err, errRedirect):
		return errRedirect.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the registry stopped answering"
	default:
		return "the connection broke"
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
