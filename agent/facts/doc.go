// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts reads what the agent tells of its host besides its images: the boot ID and the addresses.
//
// What enters are the files of the host and the network interfaces of the machine; what leaves are values of the API. The
// package must not know what is wished of the host.
package facts
