// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package management is the agent's door to the management cluster: its own host, the Secrets named there, its Lease and its
// certificate requests.
//
// What enters are the API server's address and the host's certificate; what leaves are typed values and server-side applies.
// The certificate can be exchanged while watches and applies go on. The package decides nothing and retries nothing; it must
// not know why it is asked.
package management
