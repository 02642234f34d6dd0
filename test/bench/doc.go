// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the whole product: the real processes of Repave with the permissions of a release, on a real API
// server, in front of hundreds of virtual BMCs over HTTPS. README.md says what each benchmark measures and what was measured.
//
// What enters is the binary bin/repave as it was built. What leaves are figures in the format of Go's benchmarks, for benchstat.
// It must not know how a controller works: it counts what the API server, the BMCs and the kernel saw. What a figure should be
// is said in README.md and never fails a run; only what is wrong does, for example a host that is not enrolled.
package bench
