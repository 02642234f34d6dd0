// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netboot answers hosts that boot from the network, over HTTP: what to boot, the plan of an order, the certificate
// of an installed agent, and the files of netboot images by digest.
//
// What enters are requests of hosts, hosts from the API, and images from a Store; what leaves are answers, the part
// status.netboot of hosts, and certificate signing requests. It decides nothing by itself: whether an order may install now
// is the question of lifecycle.Boot, asked with the host as the API server has it at that moment. It must not know power,
// BMCs or machines.
//
// A host is known by the secret of its order only, never by the address that a request comes from or says it comes from.
// Whoever has no secret learns nothing: an unknown host and a wrong secret get the same answer. A secret is never logged,
// and neither is a path, since paths hold secrets.
//
// The Fetcher brings the images of open operations into the Store and says in status.netboot.image how far they are. The
// Store is local to the process, so a site runs one netboot server, and both parts of it in the same process.
package netboot
