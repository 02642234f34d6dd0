// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sim is a fleet of simulated servers: what stands behind a virtual BMC where real hardware cannot be had.
//
// What enters are the acts of a BMC (power, a boot from the network) and what a server sees of its network: boot answers,
// plans, images from a registry. What leaves is what a real server would do: it fetches, verifies and writes bytes, boots what
// its disk holds, and runs the real agent and a small kubelet, each with its own identity, against the real API server. Its
// disks are folders that outlive power cuts and kills. It can be slow, refuse an image, come up with nothing, or lie dead.
//
// The package knows nothing of controllers and calls none of them: only HTTP, the registry and the API server, as a server
// would. The installer and the driver are the simulated parts; the agent is the real one.
package sim
