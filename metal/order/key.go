// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
)

// KeySize is the least number of bytes of a Key: as many as the HMAC gives.
const KeySize = 32

// redacted is all that a Key ever prints.
const redacted = "[redacted]"

// Key is the secret of a site that all tokens and credentials come from. Whoever has it can boot and enrol any host of the
// site. It prints as "[redacted]" with every verb and in JSON.
type Key []byte

// NewKey makes a random key.
func NewKey() (Key, error) {
	key := make(Key, KeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("making order key: %w", err)
	}
	return key, nil
}

// ParseKey reads what Encode wrote, as it is found in a Secret or a file: base64, white space around it allowed. A key of
// fewer than KeySize bytes is refused. No error repeats what was given.
func ParseKey(text []byte) (Key, error) {
	text = bytes.TrimSpace(text)
	key := make(Key, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(key, text)
	if err != nil {
		// The error of the decoder tells at which byte it stopped, which is of no use for a secret.
		return nil, fmt.Errorf("parsing order key: not base64")
	}
	if n < KeySize {
		return nil, fmt.Errorf("parsing order key: %d bytes, want at least %d", n, KeySize)
	}
	return key[:n], nil
}

// Encode gives the key in the form that ParseKey reads. The only way by which a key leaves the process.
func (k Key) Encode() []byte {
	return base64.StdEncoding.AppendEncode(nil, k)
}

// String hides the key.
func (k Key) String() string { return redacted }

// Format hides the key from every verb; without it, %x and %v would print its bytes.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText hides the key from structured logs and JSON.
func (k Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }
