// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release tests what a release ships: the provider repository that hack/release.sh renders.
//
// What enters are the manifests in config/ and templates/, and the real clusterctl. What leaves is that clusterctl accepts
// them: it installs Cluster API's core and both Repave providers from a repository of local files on a real control plane,
// with its validation on and no network, lists and fills the templates, and deletes one provider without the others.
//
// It is about objects only. The control plane has no kubelet and no cert-manager but for two CRDs, so no pod runs, no
// certificate is issued and no webhook answers: that the managers work is for other tests, which run them as processes with
// the permissions of these manifests. It must not know what the controllers do.
package release
