// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package goal

// Step is one act on the host. The set is closed, and every step is comparable.
type Step interface{ step() }

// Join writes what the kubelet needs to join its cluster.
type Join struct {
	Secret     string `json:"secret,omitempty"` // name of the bootstrap data Secret
	ProviderID string `json:"providerID,omitempty"`
	NodeName   string `json:"nodeName,omitempty"`
}

// Stage brings an image onto the host beside the running one.
type Stage struct {
	Image Image
}

// Boot boots the host into the staged image.
type Boot struct {
	Digest string
}

// RollBack boots the host into the image that it keeps to go back to.
type RollBack struct {
	Digest string
}

func (Join) step()     {}
func (Stage) step()    {}
func (Boot) step()     {}
func (RollBack) step() {}

// Image is an image to bring onto the host.
type Image struct {
	Ref        string // pinned by digest
	Digest     string // "sha256:…"
	PullSecret string // name of the Secret to pull with; "" for none
}
