// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"bytes"
	"crypto/x509"
	"log/slog"
	"net/url"
	"strings"
)

// TLSMode says how the certificate of a BMC is trusted.
type TLSMode string

const (
	// PinOnFirstUse trusts the first certificate seen, and from then on only that one. The default.
	PinOnFirstUse TLSMode = "PinOnFirstUse"
	// CA trusts what Endpoint.CA signed for the name or address that is called.
	CA TLSMode = "CA"
	// Insecure trusts anything, and allows http.
	Insecure TLSMode = "Insecure"
)

// Endpoint is one server behind one BMC, and how to get in. Its text forms leave the password out.
type Endpoint struct {
	Address            string // https://host[:port]; http only when Insecure
	SystemID           string // last part of the System's URI; empty when the BMC serves exactly one
	Username, Password string
	TLSMode            TLSMode // empty is PinOnFirstUse
	CA                 []byte  // PEM, with TLSMode CA
	Fingerprint        string  // pin of PinOnFirstUse: SHA-256 of the leaf in hex; empty before the first use
}

// String names the endpoint without its password.
func (e Endpoint) String() string {
	text := e.Address
	if address, err := url.Parse(e.Address); err == nil {
		text = address.Redacted()
	}
	if e.SystemID != "" {
		text += " system " + e.SystemID
	}
	return text + " as " + e.Username
}

// GoString keeps %#v from printing the password.
func (e Endpoint) GoString() string { return "redfish.Endpoint{" + e.String() + "}" }

// LogValue keeps slog from printing the password.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalText keeps encoders of structured logs from printing the password.
func (e Endpoint) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// equal says whether two endpoints are the same in everything.
func (e Endpoint) equal(other Endpoint) bool {
	return e.sameServer(other) && e.Username == other.Username && e.Password == other.Password &&
		e.TLSMode == other.TLSMode && bytes.Equal(e.CA, other.CA) && e.Fingerprint == other.Fingerprint
}

// sameServer says whether two endpoints name the same server, whoever logs in.
func (e Endpoint) sameServer(other Endpoint) bool {
	return e.Address == other.Address && e.SystemID == other.SystemID
}

// base is the checked address without a path: everything below it comes from the BMC's own links.
func (e Endpoint) base() (string, error) {
	refuse := func(why string) (string, error) {
		return "", &Error{Class: Permanent, Op: "reading the BMC address", Message: why}
	}
	address, err := url.Parse(e.Address)
	switch {
	case err != nil:
		return refuse("it is not a URL") // the parser's own words would repeat a password in it
	case address.Host == "":
		return refuse("it names no host; write https://host")
	case address.User != nil:
		return refuse("it holds an account; credentials belong into the Secret")
	case address.Scheme == "http" && e.TLSMode != Insecure:
		return refuse("http sends the password in the clear; use https, or allow it with TLS mode Insecure")
	case address.Scheme != "https" && address.Scheme != "http":
		return refuse("only https is spoken, and http with TLS mode Insecure")
	}
	if path := strings.Trim(address.Path, "/"); path != "" && path != "redfish" && path != "redfish/v1" {
		return refuse("it has a path; write https://host, a system is named by systemID")
	}
	return address.Scheme + "://" + address.Host, nil
}

// roots is the pool of CA mode; nil in the other modes.
func (e Endpoint) roots() (*x509.CertPool, error) {
	switch e.TLSMode {
	case "", PinOnFirstUse, Insecure:
		return nil, nil
	case CA:
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(e.CA) {
			return nil, &Error{Class: Permanent, Op: "reading the BMC's CA", Message: "it holds no PEM certificate"}
		}
		return pool, nil
	default:
		return nil, &Error{Class: Permanent, Op: "reading the BMC's TLS mode", Message: "it is none of PinOnFirstUse, CA, Insecure"}
	}
}
