// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"strings"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// noToken stands where a path has no secret.
const noToken = "-"

// URLs makes the addresses of orders at one netboot server.
type URLs struct {
	// Base is where hosts reach the server, for example http://10.0.0.2:8080; a path is allowed.
	Base string
	// Key of the site.
	Key Key
}

// BootURL is what a host boots from: it carries the token of the order, so it is a secret until the order ends.
func (u URLs) BootURL(namespace, name, uid, order string) string {
	return u.secret(namespace, name, uid, order, orderv1.VerbBoot)
}

// PlanURL is where the installer gets its plan; secret as BootURL.
func (u URLs) PlanURL(namespace, name, uid, order string) string {
	return u.secret(namespace, name, uid, order, orderv1.VerbPlan)
}

// CertificateURL is where the installed agent asks for its certificate; no secret is in it.
func (u URLs) CertificateURL(namespace, name, order string) string {
	return u.At(orderv1.Path(namespace, name, order, noToken, orderv1.VerbCertificate))
}

// At puts a path below the base.
func (u URLs) At(path string) string {
	return strings.TrimRight(u.Base, "/") + path
}

func (u URLs) secret(namespace, name, uid, order, verb string) string {
	return u.At(orderv1.Path(namespace, name, order, u.Key.Token(uid, order), verb))
}
