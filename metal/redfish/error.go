// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Class is what a caller may choose its next step by.
type Class string

const (
	Unreachable Class = "Unreachable" // no answer: wait and try again
	Auth        Class = "Auth"        // the account is refused: a person must act
	Certificate Class = "Certificate" // not the certificate that is trusted: a person must act
	Conflict    Class = "Conflict"    // not in this state: look again, then decide
	Unsupported Class = "Unsupported" // this BMC cannot do it: choose another way
	Ignored     Class = "Ignored"     // accepted, but reading back shows that nothing came of it
	Transient   Class = "Transient"   // busy or starting: try the same again later
	Permanent   Class = "Permanent"   // trying again changes nothing
)

// Error is every error of this package. Its text is safe to show in conditions and events: it holds no secret, no time
// and nothing a BMC wrote freely, and is the same each time the same thing happens.
type Error struct {
	Class     Class
	Op        string // what was being done, "setting the boot source"
	Status    int    // HTTP status, 0 when there was none
	MessageID string // of the message registry, without version: "Base.ResourceInUse"; empty when there was none
	Message   string
}

func (e *Error) Error() string {
	text := e.Op + ": " + e.Message
	if e.MessageID != "" {
		text += " (" + e.MessageID + ")"
	}
	return text
}

// asError returns the Error in err, or makes one of what should not have come up.
func asError(op string, err error) *Error {
	if err == nil {
		return nil
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	return &Error{Class: Permanent, Op: op, Message: "unexpected failure"}
}

func classOf(err error) Class {
	if err == nil {
		return ""
	}
	return asError("", err).Class
}

// messageClasses are registry messages that say more than the status they come with (1.1 of the quirks: several BMCs
// answer 400 to everything). The key is the last part of the MessageId.
var messageClasses = map[string]Class{
	"ActionNotSupported":               Unsupported,
	"ActionParameterNotSupported":      Unsupported,
	"ActionParameterValueNotInList":    Unsupported,
	"PropertyNotWritable":              Unsupported,
	"PropertyUnknown":                  Unsupported,
	"PropertyValueNotInList":           Unsupported,
	"UnsupportedOperation":             Unsupported,
	"InvalidOperationForSystemState":   Transient,
	"UnableToModifyDuringSystemPOST":   Transient,
	"ServiceInUnknownState":            Transient,
	"ServiceTemporarilyUnavailable":    Transient,
	"SessionLimitExceeded":             Transient,
	"ResourceInUse":                    Conflict,
	"InsufficientPrivilege":            Auth,
	"ResourceAtUriUnauthorized":        Auth,
	"PasswordChangeRequired":           Auth,
	"AccountForSessionNoLongerExists":  Auth,
	"SessionTerminated":                Auth,
	"NoValidSession":                   Auth,
	"ResourceCannotBeDeleted":          Unsupported,
	"QueryNotSupportedOnResource":      Unsupported,
	"PropertyValueFormatError":         Permanent,
	"ChangeConflictsWithPendingChange": Conflict,
}

// statusError says what an HTTP status, with the message that came along, means.
func statusError(op string, status int, messageID string) *Error {
	e := &Error{Op: op, Status: status, MessageID: messageID, Message: "answered " + strconv.Itoa(status)}
	if text := http.StatusText(status); text != "" {
		e.Message += " " + text
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Class = Auth
	case status == http.StatusConflict || status == http.StatusPreconditionFailed || status == http.StatusPreconditionRequired:
		e.Class = Conflict
	case status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented:
		e.Class = Unsupported
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		e.Class = Transient
	default:
		e.Class = Permanent
	}
	if class, ok := messageClasses[messageID[strings.LastIndex(messageID, ".")+1:]]; ok {
		e.Class = class
	}
	return e
}

// contactError says in our own words why there was no answer: the words of net and crypto hold ports and addresses that
// differ each time.
func contactError(op string, err error, timeout time.Duration) *Error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return &Error{Class: known.Class, Op: op, Message: known.Message}
	}
	var (
		untrusted *tls.CertificateVerificationError
		invalid   x509.CertificateInvalidError
		lookup    *net.DNSError
		network   net.Error
		record    tls.RecordHeaderError
		alert     tls.AlertError
	)
	e := &Error{Class: Unreachable, Op: op}
	switch {
	case errors.As(err, &untrusted) || errors.As(err, &invalid):
		e.Class, e.Message = Certificate, "the certificate is not one the given CA signed for this address"
	case errors.As(err, &lookup):
		e.Message = "the name does not resolve"
	case errors.As(err, &network) && network.Timeout():
		e.Message = "no answer within " + timeout.String()
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		e.Message = "no route to the BMC"
	case errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Message = "no TLS is spoken at this address"
	case errors.As(err, &alert):
		e.Message = "the TLS handshake failed"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		e.Message = "the connection broke off"
	default:
		e.Message = "the connection failed"
	}
	return e
}
