// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is what the netboot server and a booting host say to each other: the paths of an order, the plan that an
// installer carries out, and the credential by which the installed agent asks for its certificate.
//
// What enters and leaves are plain JSON values over HTTP; none of them is a Kubernetes object. The package knows neither
// server nor installer.
//
// The way of an order, all below BootPath's folder:
//
//	GET  …/boot         what to boot now: an iPXE script that starts the installer, or exits to the local disk
//	POST …/plan         the plan, once; a second request, another host's token or an outdated order gets 403
//	POST …/failure      the installer's last word when it gives up (body: Failure)
//	POST …/certificate  the installed agent's certificate request, with the credential of the plan as bearer token
//	                    (body: CertificateRequest; 202 with Retry-After while it is being signed, 200 with Certificate)
package v1alpha1
