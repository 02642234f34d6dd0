// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func testKey(fill byte) Key { return bytes.Repeat([]byte{fill}, KeySize) }

func TestSecretsAreTheSameAtEveryCall(t *testing.T) {
	g := NewWithT(t)
	// The values are fixed here: another derivation would strand the orders that are on their way during an upgrade.
	g.Expect(testKey(7).Token("uid-1", "op.1")).To(Equal("OQWE65qQqKaAtoC75RYD8yoJ73x_IoNLd4A3wXMAyOE"))
	g.Expect(testKey(7).Credential("uid-1", "op.1")).To(Equal("QiSY1hFJURmj-tfFESwokPYO4cBZvCNlaZkhxUBb4xc"))
}

func TestSecretsDifferByEveryPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringN(0, 12, -1)
		key := testKey(rapid.Byte().Draw(t, "key"))
		host, order := part.Draw(t, "host"), part.Draw(t, "order")
		token, credential := key.Token(host, order), key.Credential(host, order)
		if token == credential {
			t.Fatal("a token opens the certificate verb")
		}
		if !key.VerifyToken(host, order, token) || !key.VerifyCredential(host, order, credential) {
			t.Fatal("a secret does not verify")
		}
		if key.VerifyToken(host, order, credential) || key.VerifyCredential(host, order, token) {
			t.Fatal("a secret verifies for another purpose")
		}
		otherHost, otherOrder := part.Draw(t, "other host"), part.Draw(t, "other order")
		same := otherHost == host && otherOrder == order
		if key.VerifyToken(otherHost, otherOrder, token) != same {
			t.Fatalf("token of %q %q verifies for %q %q", host, order, otherHost, otherOrder)
		}
		other := testKey(key[0] + 1)
		if other.VerifyToken(host, order, token) || other.VerifyCredential(host, order, credential) {
			t.Fatal("a secret verifies with another key")
		}
	})
}

func TestMovingBytesBetweenPartsChangesTheSecret(t *testing.T) {
	g := NewWithT(t)
	g.Expect(testKey(1).Token("ab", "c")).NotTo(Equal(testKey(1).Token("a", "bc")))
}

func TestWrongSecretsAreRefused(t *testing.T) {
	g := NewWithT(t)
	token := testKey(1).Token("uid", "op.1")
	for _, wrong := range []string{"", "-", token[1:], token + "A", strings.ToUpper(token)} {
		g.Expect(testKey(1).VerifyToken("uid", "op.1", wrong)).To(BeFalse(), wrong)
	}
}

func TestAnUnsetKeyDerivesNothing(t *testing.T) {
	g := NewWithT(t)
	g.Expect(func() { Key(nil).Token("uid", "op.1") }).To(PanicWith(ContainSubstring("not set")))
	g.Expect(func() { testKey(1)[1:].VerifyCredential("uid", "op.1", "") }).To(PanicWith(ContainSubstring("not set")))
}

func TestKeysSurviveEncoding(t *testing.T) {
	g := NewWithT(t)
	key, err := NewKey()
	g.Expect(err).NotTo(HaveOccurred())
	read, err := ParseKey(append(key.Encode(), '\n'))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(read, key)).To(BeTrue())
	another, err := NewKey()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(another, key)).To(BeFalse())
}

func TestBadKeysAreRefusedWithoutRepeatingThem(t *testing.T) {
	for name, text := range map[string]string{
		"empty":      "",
		"short":      base64.StdEncoding.EncodeToString(testKey('s')[1:]),
		"not base64": "secret!",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := ParseKey([]byte(text))
			g.Expect(err).To(MatchError(HavePrefix("parsing order key: ")))
			if text != "" {
				g.Expect(err.Error()).NotTo(ContainSubstring(text))
			}
		})
	}
}

func TestKeysNeverPrint(t *testing.T) {
	g := NewWithT(t)
	key := testKey('K')
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		g.Expect(fmt.Sprintf(verb, key)).To(Equal(redacted), verb)
		g.Expect(fmt.Sprintf(verb, URLs{Key: key})).NotTo(ContainSubstring("75"), verb)
	}
	out, err := json.Marshal(map[string]any{"key": key})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(Equal(`{"key":"[redacted]"}`))
}

func TestURLs(t *testing.T) {
	g := NewWithT(t)
	key := testKey(7)
	urls := URLs{Base: "http://10.0.0.2:8080/", Key: key}
	g.Expect(urls.BootURL("ns", "h1", "uid-1", "op.1")).To(Equal("http://10.0.0.2:8080/v1/orders/ns/h1/op.1/" + key.Token("uid-1", "op.1") + "/boot"))
	g.Expect(urls.PlanURL("ns", "h1", "uid-1", "op.1")).To(Equal("http://10.0.0.2:8080/v1/orders/ns/h1/op.1/" + key.Token("uid-1", "op.1") + "/plan"))
	g.Expect(urls.CertificateURL("ns", "h1", "op.1")).To(Equal("http://10.0.0.2:8080/v1/orders/ns/h1/op.1/-/certificate"))
}
