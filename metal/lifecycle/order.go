// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// OrderID names the order of the present attempt of an operation: "<operation>.<attempt>".
func OrderID(op infrav1.Operation) string {
	return op.ID + "." + strconv.FormatInt(int64(op.Attempt), 10)
}

// BootAnswer is what a host that boots from the network gets.
type BootAnswer string

// The answers.
const (
	Installer BootAnswer = "Installer" // start the installer; its plan may be handed out
	LocalDisk BootAnswer = "LocalDisk" // the plan was handed out already: boot what is on the disk
	Nothing   BootAnswer = "Nothing"   // no such order
)

// BootView is all that decides about a boot.
type BootView struct {
	Order     string // that the host asks with
	Operation *infrav1.Operation
	Redeemed  string // the last order whose plan was handed out
	Ending    bool   // the claim ends, or the host was moved away: nothing is installed any more
}

// ViewBoot reads a host as its API object has it. Its error is that of Restore: answer Nothing.
func ViewBoot(host *infrav1.RepaveHost, order string) (BootView, error) {
	record, err := Restore(host.Annotations[infrav1.AnnotationRecord], host.Status)
	if err != nil {
		return BootView{}, err
	}
	_, moved := host.Annotations[infrav1.AnnotationDeleteForMove]
	v := BootView{Order: order, Operation: record.Operation, Ending: moved || host.Spec.ClaimRef != nil && host.Spec.Desired == nil}
	if host.Status.Netboot != nil {
		v.Redeemed = host.Status.Netboot.RedeemedOrder
	}
	return v, nil
}

// Boot says what a host gets that boots with an order. A plan may be handed out when, and only when, it says Installer. The
// step Proving says the same as a redeemed order, so that losing status hands no plan out twice.
func Boot(v BootView) BootAnswer {
	op := v.Operation
	switch {
	case v.Order == "":
		return Nothing
	case v.Order == v.Redeemed:
		return LocalDisk
	case op == nil || v.Ending || op.Method != infrav1.MethodNetboot || v.Order != OrderID(*op):
		return Nothing
	case op.Step == infrav1.StepProving:
		return LocalDisk
	case op.Step == infrav1.StepPoweringOn || op.Step == infrav1.StepInstalling:
		return Installer
	default:
		return Nothing
	}
}

// Redeemed says whether the plan of an order was handed out, by status or, where that was lost, by the step that follows: only a
// redeemed order is proven.
func Redeemed(v BootView) bool {
	proving := v.Operation != nil && v.Operation.Step == infrav1.StepProving && v.Order == OrderID(*v.Operation)
	return v.Order != "" && (v.Order == v.Redeemed || proving)
}

// Released says whether the claim of a host may be removed: its machine wants nothing of it any more, and the host
// controller has ended every operation, forgotten the install, and since then seen the host off (or has no power over it).
// It reads the record, not status.power, which may be of before the last power-on.
func Released(host *infrav1.RepaveHost) bool {
	if host.Spec.ClaimRef == nil || host.Spec.Desired != nil {
		return false
	}
	record, err := Restore(host.Annotations[infrav1.AnnotationRecord], host.Status)
	return err == nil && record.Operation == nil && record.Installed == "" && record.Release != nil && record.Release.Done
}
