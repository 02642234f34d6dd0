// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// decide asks what the order of a request gets. A host whose record cannot be read gets nothing, until a person has looked.
func decide(host *infrav1.RepaveHost, order string) lifecycle.BootAnswer {
	view, err := lifecycle.ViewBoot(host, order)
	if err != nil {
		return lifecycle.Nothing
	}
	return lifecycle.Boot(view)
}

// openOperation is the netboot operation of a host that still wants an outcome, or nil.
func openOperation(host *infrav1.RepaveHost) *infrav1.Operation {
	view, err := lifecycle.ViewBoot(host, "")
	if err != nil || view.Ending || view.Operation == nil {
		return nil
	}
	if view.Operation.Method != infrav1.MethodNetboot || view.Operation.Step == infrav1.StepGaveUp {
		return nil
	}
	return view.Operation
}

// currentOrder is the only order that counts for a host now, or "".
func currentOrder(host *infrav1.RepaveHost) string {
	operation := openOperation(host)
	if operation == nil {
		return ""
	}
	return lifecycle.OrderID(*operation)
}

// redeemed says whether the plan of an order was handed out.
func redeemed(host *infrav1.RepaveHost, order string) bool {
	view, err := lifecycle.ViewBoot(host, order)
	return err == nil && lifecycle.Redeemed(view)
}

// current refuses orders that are not the current one of the host.
func current(host *infrav1.RepaveHost, order string) error {
	switch currentOrder(host) {
	case order:
		return nil
	case "":
		return refusedFor(refusedNotExpected, host)
	default:
		return refusedFor(refusedOutdated, host)
	}
}
