// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// State is a verdict.
type State int

// The verdicts.
const (
	Running State = iota
	Proven        // what was asked for is done, with proof
	Failed        // it will not come about without a person
)

// Verdict says how far something is, in one line for people.
type Verdict struct {
	State State
	Line  string
}

// Ask is a counter of a host that was raised.
type Ask struct {
	Kind    infrav1.OperationKind
	Counter int64
}

func (a Ask) String() string { return fmt.Sprintf("%s %d", strings.ToLower(string(a.Kind)), a.Counter) }

// Next is the next value of a host's counter: one above both what was asked for and what was acknowledged, since the
// acknowledged value may be ahead after spec was restored from a backup.
func Next(host *infrav1.RepaveHost, kind infrav1.OperationKind) Ask {
	asked, acknowledged := counters(host, kind)
	return Ask{Kind: kind, Counter: max(asked, acknowledged) + 1}
}

func counters(host *infrav1.RepaveHost, kind infrav1.OperationKind) (asked, acknowledged int64) {
	if kind == infrav1.OperationReboot {
		return host.Spec.Operations.RebootCounter, host.Status.Operations.RebootCounter
	}
	return host.Spec.Operations.RepaveCounter, host.Status.Operations.RepaveCounter
}

// Obstacle says what is missing on a host without which the controller does not begin the operation, "" where nothing is.
func Obstacle(host *infrav1.RepaveHost, kind infrav1.OperationKind) string {
	repave := kind == infrav1.OperationRepave
	switch {
	case host.Spec.BMC == nil:
		return "the host has no BMC (spec.bmc)"
	case repave && host.Spec.RootDevice == nil:
		return "spec.rootDevice does not say which disk may be written"
	case repave && (host.Spec.Desired == nil || host.Spec.Desired.Netboot == nil):
		return "no netboot image is named (the machine's spec.netboot)"
	}
	return ""
}

// Of judges an ask by the host as it is now.
func Of(host *infrav1.RepaveHost, ask Ask) Verdict {
	if _, acknowledged := counters(host, ask.Kind); acknowledged >= ask.Counter {
		return Verdict{Proven, fmt.Sprintf("%s: %s proven", host.Name, ask)}
	}
	if why := stuck(host, ask); why != "" {
		return Verdict{Failed, fmt.Sprintf("%s: %s failed: %s", host.Name, ask, why)}
	}
	op := host.Status.Operation
	line := fmt.Sprintf("%s: %s waits", host.Name, ask)
	if op != nil {
		line = fmt.Sprintf("%s: %s: %s, attempt %d", host.Name, ask, op.Step, op.Attempt)
		if op.Kind != ask.Kind || op.Counter < ask.Counter {
			line = fmt.Sprintf("%s: %s waits for %s: %s, attempt %d", host.Name, ask, running(op), op.Step, op.Attempt)
		}
	}
	if condition := meta.FindStatusCondition(host.Status.Conditions, infrav1.ConditionReady); condition != nil {
		line += " (" + condition.Reason + ")"
	}
	if op != nil && op.Message != "" {
		line += ": " + op.Message
	}
	return Verdict{Running, line}
}

func running(op *infrav1.Operation) string {
	if op.Counter == 0 {
		return "the install of the claim"
	}
	return Ask{op.Kind, op.Counter}.String()
}

// stuck says why an ask will not be carried out unless a person does something; "" while it may be.
func stuck(host *infrav1.RepaveHost, ask Ask) string {
	if op := host.Status.Operation; op != nil {
		if op.Step == infrav1.StepGaveUp && !startsOver(host, op) {
			return fmt.Sprintf("%s was given up after %d attempts: %s", running(op), op.Attempt, op.Message)
		}
		if op.Step != infrav1.StepPreparing {
			return ""
		}
	}
	condition := meta.FindStatusCondition(host.Status.Conditions, infrav1.ConditionReady)
	if condition == nil || host.Status.ObservedGeneration < host.Generation {
		return "" // the controller has not seen the counter yet
	}
	switch condition.Reason {
	case infrav1.ReasonNoPowerControl, infrav1.ReasonRootDeviceMissing, infrav1.ReasonNoNetbootImage, infrav1.ReasonDeleting, infrav1.ReasonStillClaimed:
		return condition.Reason + ": " + condition.Message
	}
	return ""
}

// startsOver says whether the controller will leave an operation that it gave up: for a higher counter, for another image,
// or for a repave where a reboot was given up. Without this, an ask that was just raised would look failed until the
// controller saw it.
func startsOver(host *infrav1.RepaveHost, op *infrav1.Operation) bool {
	repaves, acknowledged := counters(host, infrav1.OperationRepave)
	if op.Kind == infrav1.OperationReboot {
		reboots, _ := counters(host, infrav1.OperationReboot)
		return reboots > op.Counter || repaves > acknowledged && Obstacle(host, infrav1.OperationRepave) == ""
	}
	if repaves > max(op.Counter, acknowledged) {
		return true
	}
	desired := host.Spec.Desired
	return desired != nil && desired.Netboot != nil && desired.Netboot.Digest() != op.Digest
}
