// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// What a secret is good for is part of what it is derived from: a token seen in a boot log never opens the certificate
// verb, and the other way round.
const (
	purposeToken      = "repave.io/order/v1/token"
	purposeCredential = "repave.io/order/v1/credential"
)

// Token is the secret in the URLs of an order. It travels over the boot network and may end up in the logs of the host.
func (k Key) Token(hostUID, order string) string {
	return k.derive(purposeToken, hostUID, order)
}

// Credential is the secret in the plan of an order, good for one certificate.
func (k Key) Credential(hostUID, order string) string {
	return k.derive(purposeCredential, hostUID, order)
}

// VerifyToken says whether the token is that of the host's order, in a time that does not depend on the answer.
func (k Key) VerifyToken(hostUID, order, token string) bool {
	return hmac.Equal([]byte(k.Token(hostUID, order)), []byte(token))
}

// VerifyCredential says whether the credential is that of the host's order, in a time that does not depend on the answer.
func (k Key) VerifyCredential(hostUID, order, credential string) bool {
	return hmac.Equal([]byte(k.Credential(hostUID, order)), []byte(credential))
}

// derive gives base64url(HMAC-SHA256(key, purpose, host, order)). Each part goes in with its length, so that no two
// different lists of parts are the same bytes. A key that is too short derives nothing: an unset key must not make secrets
// that anybody can compute.
func (k Key) derive(parts ...string) string {
	if len(k) < KeySize {
		panic("order key is not set: use NewKey or ParseKey")
	}
	mac := hmac.New(sha256.New, k)
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
