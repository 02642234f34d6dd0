// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

const (
	digestPrefix = "sha256:"
	// maxRef bounds a reference: 255 for the name as registries have it, a host name, and the digest.
	maxRef = 640
)

var (
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	// repositoryForm is the grammar of the OCI distribution specification. go-containerregistry allows more, ".." too.
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
)

// Ref names one image for good: registry, repository and digest. It is comparable.
type Ref struct {
	// Registry is host or host:port.
	Registry string
	// Repository is the path below the registry.
	Repository string
	// Digest is sha256: and 64 lower-case hex digits.
	Digest string
}

// String is registry/repository@digest, which ParseRef reads back to the same Ref.
func (r Ref) String() string { return r.Registry + "/" + r.Repository + "@" + r.Digest }

// ParseRef reads registry/repository@sha256:<64 hex digits>. A tag is refused also beside a digest: the digest alone
// counts, and bootc refuses both. The registry must be named: nothing falls back to a public one.
// The error is an *Error of Kind InvalidReference.
func ParseRef(ref string) (Ref, error) {
	invalid := func(reason string) (Ref, error) {
		return Ref{}, &Error{Kind: InvalidReference, Ref: showable(ref), Detail: reason}
	}
	base, digest, pinned := strings.Cut(ref, "@")
	switch {
	case len(ref) > maxRef:
		return invalid("the reference is too long")
	case strings.Contains(ref, "://"):
		return invalid("the reference has a URL scheme; write registry/name@sha256:…")
	case !pinned:
		return invalid("the reference is not pinned by digest; write registry/name@sha256:…")
	case !digestForm.MatchString(digest):
		return invalid("the digest is not sha256: and 64 lower-case hex digits")
	}
	registry, repository, _ := strings.Cut(base, "/")
	if !namesHost(registry) || repository == "" {
		return invalid("the reference does not name its registry; write registry.example/name@sha256:…")
	}
	if strings.Contains(repository, ":") {
		return invalid("the reference has a tag; the digest alone names the image")
	}
	if _, err := name.NewRepository(base, name.StrictValidation); err != nil || !repositoryForm.MatchString(repository) {
		return invalid("the name is not that of a repository in a registry")
	}
	return Ref{Registry: registry, Repository: repository, Digest: digest}, nil
}

// namesHost tells a registry from the first part of a repository as all OCI tools do.
func namesHost(first string) bool {
	return strings.ContainsAny(first, ".:") || first == "localhost"
}

// showable is ref when it certainly holds no credentials, else empty: a URL pasted with user:password@ does.
func showable(ref string) string {
	base, _, _ := strings.Cut(ref, "@sha256:")
	if len(ref) > maxRef || strings.ContainsAny(base, "@\n\r\t") || strings.Contains(base, "://") {
		return ""
	}
	for _, r := range ref {
		if r <= ' ' || r > '~' {
			return ""
		}
	}
	return ref
}

// hexOf is the digest without its algorithm, false when it is not of the only form there is: it becomes a file name.
func hexOf(digest string) (string, bool) {
	if !digestForm.MatchString(digest) {
		return "", false
	}
	return strings.TrimPrefix(digest, digestPrefix), true
}
