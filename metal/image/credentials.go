// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import "log/slog"

const redacted = "[redacted]"

// Credentials authenticate to a registry by user name and password or token. No way of printing or marshalling shows
// either.
type Credentials struct {
	Username string
	Password string
}

// String implements fmt.Stringer.
func (Credentials) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (Credentials) GoString() string { return redacted }

// MarshalText implements encoding.TextMarshaler, and with it what encoding/json does.
func (Credentials) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (Credentials) LogValue() slog.Value { return slog.StringValue(redacted) }
