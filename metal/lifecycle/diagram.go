// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// transition is one way from a step of an operation to the next; "" is where it is opened and where it ends.
type transition struct {
	from, to infrav1.OperationStep
	when     string
}

// transitions are all the ways there are. A test drives simulated hosts through whole lives and compares.
var transitions = []transition{
	{"", infrav1.StepPreparing, "counter above the acknowledged one, or first install of a claim"},
	{infrav1.StepPreparing, infrav1.StepShuttingDown, "host on, agent connected"},
	{infrav1.StepPreparing, infrav1.StepForcingOff, "host on"},
	{infrav1.StepPreparing, infrav1.StepSettingBoot, "repave, host off"},
	{infrav1.StepPreparing, infrav1.StepPoweringOn, "reboot, host off"},
	{infrav1.StepPreparing, "", "late proof, withdrawn or released"},
	{infrav1.StepShuttingDown, infrav1.StepForcingOff, "grace over or not supported"},
	{infrav1.StepShuttingDown, infrav1.StepSettingBoot, "repave, seen off"},
	{infrav1.StepShuttingDown, infrav1.StepPoweringOn, "reboot, seen off"},
	{infrav1.StepShuttingDown, infrav1.StepPreparing, "deadline: next attempt"},
	{infrav1.StepShuttingDown, infrav1.StepGaveUp, "deadline of the last attempt"},
	{infrav1.StepShuttingDown, "", "late proof or released"},
	{infrav1.StepForcingOff, infrav1.StepSettingBoot, "repave, seen off"},
	{infrav1.StepForcingOff, infrav1.StepPoweringOn, "reboot, seen off"},
	{infrav1.StepForcingOff, infrav1.StepPreparing, "deadline: next attempt"},
	{infrav1.StepForcingOff, infrav1.StepGaveUp, "deadline of the last attempt"},
	{infrav1.StepForcingOff, "", "released"},
	{infrav1.StepSettingBoot, infrav1.StepPoweringOn, "boot source set"},
	{infrav1.StepSettingBoot, infrav1.StepPreparing, "deadline: next attempt"},
	{infrav1.StepSettingBoot, infrav1.StepGaveUp, "deadline of the last attempt"},
	{infrav1.StepSettingBoot, "", "released"},
	{infrav1.StepPoweringOn, infrav1.StepInstalling, "repave, seen on"},
	{infrav1.StepPoweringOn, infrav1.StepProving, "reboot, seen on"},
	{infrav1.StepPoweringOn, infrav1.StepPreparing, "failed or deadline: next attempt"},
	{infrav1.StepPoweringOn, infrav1.StepGaveUp, "last attempt failed"},
	{infrav1.StepPoweringOn, "", "proven or released"},
	{infrav1.StepInstalling, infrav1.StepProving, "order redeemed"},
	{infrav1.StepInstalling, infrav1.StepPreparing, "failed or deadline: next attempt"},
	{infrav1.StepInstalling, infrav1.StepGaveUp, "last attempt failed"},
	{infrav1.StepInstalling, "", "proven or released"},
	{infrav1.StepProving, infrav1.StepPreparing, "failed or deadline: next attempt"},
	{infrav1.StepProving, infrav1.StepGaveUp, "last attempt failed"},
	{infrav1.StepProving, "", "proven or released"},
	{infrav1.StepGaveUp, "", "late proof, higher counter, another image or released"},
}

// known says whether a step is one of the table.
func known(step infrav1.OperationStep) bool {
	return step != "" && slices.ContainsFunc(transitions, func(t transition) bool { return t.from == step })
}

// Diagram is the state diagram of operations, as Mermaid text for the documentation.
func Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	name := func(step infrav1.OperationStep) string {
		if step == "" {
			return "[*]"
		}
		return string(step)
	}
	for _, t := range transitions {
		b.WriteString("    " + name(t.from) + " --> " + name(t.to) + ": " + t.when + "\n")
	}
	return b.String()
}
