// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var someDigest = "sha256:" + strings.Repeat("0a", 32)

func TestParseRef(t *testing.T) {
	cases := []struct {
		ref  string
		want Ref
		// why is empty when the reference is good.
		why string
	}{
		{ref: "registry.example/os@" + someDigest, want: Ref{"registry.example", "os", someDigest}},
		{ref: "127.0.0.1:5000/a/b/c@" + someDigest, want: Ref{"127.0.0.1:5000", "a/b/c", someDigest}},
		{ref: "localhost/os@" + someDigest, want: Ref{"localhost", "os", someDigest}},
		{ref: "", why: "not pinned"},
		{ref: "registry.example/os", why: "not pinned"},
		{ref: "registry.example/os:latest", why: "not pinned"},
		{ref: "registry.example/os:v1@" + someDigest, why: "has a tag"},
		{ref: "os@" + someDigest, why: "does not name its registry"},
		{ref: "library/os@" + someDigest, why: "does not name its registry"},
		{ref: "registry.example/@" + someDigest, why: "does not name its registry"},
		{ref: "registry.example/OS@" + someDigest, why: "not that of a repository"},
		{ref: "registry.example/../os@" + someDigest, why: "not that of a repository"},
		{ref: "registry.example/os@sha256:abc", why: "64 lower-case"},
		{ref: "registry.example/os@" + strings.ToUpper(someDigest), why: "64 lower-case"},
		{ref: "registry.example/os@sha512:" + strings.Repeat("0a", 64), why: "64 lower-case"},
		{ref: "https://registry.example/os@" + someDigest, why: "URL scheme"},
		{ref: "registry.example/os@" + someDigest + "\n", why: "64 lower-case"},
		{ref: "registry.example/" + strings.Repeat("a/", 400) + "os@" + someDigest, why: "too long"},
	}
	for _, tc := range cases {
		t.Run(tc.ref, func(t *testing.T) {
			g := NewWithT(t)
			got, err := ParseRef(tc.ref)
			if tc.why != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
				g.Expect(KindOf(err)).To(Equal(InvalidReference))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
			g.Expect(got.String()).To(Equal(tc.ref))
		})
	}
}

func TestParseRefKeepsPastedCredentialsToItself(t *testing.T) {
	for _, ref := range []string{
		"https://user:hunter2@registry.example/os@" + someDigest,
		"user:hunter2@registry.example/os@" + someDigest,
		"user:hunter2@registry.example/os",
	} {
		g := NewWithT(t)
		_, err := ParseRef(ref)
		g.Expect(KindOf(err)).To(Equal(InvalidReference))
		g.Expect(fmt.Sprintf("%v %+v %#v", err, err, err)).NotTo(ContainSubstring("hunter2"))
	}
}

func TestCredentialsAreNeverShown(t *testing.T) {
	g := NewWithT(t)
	creds := Credentials{Username: "alice", Password: "hunter2"}
	text, err := json.Marshal(map[string]any{"value": creds, "pointer": &creds})
	g.Expect(err).NotTo(HaveOccurred())
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("pulling", "creds", creds, "pointer", &creds)
	shown := fmt.Sprintf("%v %+v %#v %s %q %v", creds, creds, creds, creds, creds, &creds) + string(text) + logged.String()
	g.Expect(shown).NotTo(Or(ContainSubstring("hunter2"), ContainSubstring("alice")))
	g.Expect(shown).To(ContainSubstring(redacted))
}

func FuzzParseRef(f *testing.F) {
	f.Add("registry.example/os@" + someDigest)
	f.Add("127.0.0.1:5000/a/b@" + someDigest)
	f.Add("user:pass@registry.example/os@" + someDigest)
	f.Add("[::1]:5000/os@" + someDigest)
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseRef(text)
		if err != nil {
			if KindOf(err) != InvalidReference {
				t.Fatalf("ParseRef(%q) fails with %v", text, err)
			}
			return
		}
		if ref.String() != text {
			t.Fatalf("ParseRef(%q) = %q", text, ref)
		}
		if _, ok := hexOf(ref.Digest); !ok {
			t.Fatalf("ParseRef(%q) has digest %q", text, ref.Digest)
		}
	})
}
