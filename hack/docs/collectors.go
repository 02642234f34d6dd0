// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/repave-io/cluster-api-provider-repave/bootstrap/config"
	"github.com/repave-io/cluster-api-provider-repave/controllers/host"
	"github.com/repave-io/cluster-api-provider-repave/controllers/machine"
	"github.com/repave-io/cluster-api-provider-repave/controllers/pool"
	"github.com/repave-io/cluster-api-provider-repave/metal/netboot"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

// collectors are those that the roles of the manager register.
func collectors() []prometheus.Collector {
	return slices.Concat(host.Collectors(), machine.Collectors(), pool.Collectors(), config.Collectors(), netboot.Collectors(), redfish.Collectors())
}
