// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

// BMCs are the management controllers, each with its own goroutine behind this interface: no call waits for one. Keys are
// those of Key.
type BMCs interface {
	// Connect makes the BMC known under the key; with the same endpoint it does nothing.
	Connect(key string, endpoint redfish.Endpoint)
	// Forget gives back the session of the BMC, without waiting.
	Forget(key string)
	// Reading is the last that is known, and whether the key is.
	Reading(key string) (redfish.Reading, bool)
	// Ask has a command carried out, once for each ID; false: not now.
	Ask(key string, command redfish.Command) bool
}

// Orders make the URL that a host boots from. It holds the token of the order: it goes to the BMC and nowhere else.
type Orders interface {
	BootURL(namespace, name, uid, order string) string
}

// Key names the BMC of a host: namespace/name, so that a change of a reading can wake the right host.
func Key(host client.Object) string { return client.ObjectKeyFromObject(host).String() }
