// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const providerIDScheme = "repave://"

// ProviderID names a Node by its claim: a host that is claimed again gives another Node, so a stale Node matches no machine.
func ProviderID(namespace, host, machine string) string {
	return providerIDScheme + namespace + "/" + host + "/" + machine
}

// machineOf gives the machine that a provider ID names.
func machineOf(providerID string) (client.ObjectKey, bool) {
	rest, ours := strings.CutPrefix(providerID, providerIDScheme)
	parts := strings.Split(rest, "/")
	if !ours || len(parts) != 3 {
		return client.ObjectKey{}, false
	}
	return client.ObjectKey{Namespace: parts[0], Name: parts[2]}, true
}
