// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry is a small real OCI registry on a loopback port, for tests and for the demo.
//
// What enters: the bytes of images to hold, credentials to ask for, and faults to commit on demand.
// What leaves: digest-pinned references, and OCI distribution HTTP as a client meets it in the field. Every byte
// served goes through go-containerregistry's own registry, so that a puller is tested against the protocol and not
// against our idea of it.
//
// It must not know who pulls: neither the image store nor any API type is imported, so that every room may use it
// in its own tests.
package registry
