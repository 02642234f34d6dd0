// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"fmt"
	"strings"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Transition is one way from a stretch to another. From "" is the beginning: a new wish, or a status that was lost.
type Transition struct {
	From, To infrav1.UpdateStep
	Why      string
}

// Transitions are all ways that Next takes with an in-place image; a test walks every combination of facts to keep it so.
var Transitions = []Transition{
	{"", infrav1.UpdateStaging, "another image is wanted"},
	{infrav1.UpdateStaging, infrav1.UpdateStaged, "staged"},
	{infrav1.UpdateStaging, infrav1.UpdateVerifying, "it runs already"},
	{infrav1.UpdateStaging, infrav1.UpdateFailed, "staging failed"},
	{infrav1.UpdateStaging, infrav1.UpdateRolledBack, "it failed before"},
	{infrav1.UpdateStaged, infrav1.UpdateStaging, "no longer staged"},
	{infrav1.UpdateStaged, infrav1.UpdateDraining, "slot granted"},
	{infrav1.UpdateStaged, infrav1.UpdateVerifying, "it runs already"},
	{infrav1.UpdateStaged, infrav1.UpdateFailed, "staging failed"},
	{infrav1.UpdateStaged, infrav1.UpdateRolledBack, "it failed before"},
	{infrav1.UpdateDraining, infrav1.UpdateStaging, "slot withdrawn or no longer staged"},
	{infrav1.UpdateDraining, infrav1.UpdateBooting, "drained"},
	{infrav1.UpdateBooting, infrav1.UpdateStaging, "the boot was never asked for"},
	{infrav1.UpdateBooting, infrav1.UpdateVerifying, "another boot runs the image"},
	{infrav1.UpdateBooting, infrav1.UpdateRolledBack, "the host went back"},
	{infrav1.UpdateBooting, infrav1.UpdateFailed, "deadline"},
	{infrav1.UpdateVerifying, infrav1.UpdateStaging, "not asked for, and it runs no longer"},
	{infrav1.UpdateVerifying, infrav1.UpdateUncordoning, "the Node proved it"},
	{infrav1.UpdateVerifying, infrav1.UpdateRolledBack, "the host went back"},
	{infrav1.UpdateVerifying, infrav1.UpdateFailed, "deadline"},
	{infrav1.UpdateUncordoning, infrav1.UpdateUpToDate, "the cordon is given back"},
	{infrav1.UpdateUncordoning, infrav1.UpdateStaging, "the host runs another image"},
	{infrav1.UpdateUpToDate, infrav1.UpdateStaging, "the host runs another image"},
	{infrav1.UpdateUpToDate, infrav1.UpdateUncordoning, "a cordon was left"},
	{infrav1.UpdateFailed, infrav1.UpdateUncordoning, "it came up late"},
	{infrav1.UpdateFailed, infrav1.UpdateRolledBack, "the host went back late"},
	{infrav1.UpdateRolledBack, infrav1.UpdateUncordoning, "it came up after all"},
	{infrav1.UpdateRolledBack, infrav1.UpdateFailed, "it failed otherwise since"},
}

// Diagram draws the Transitions for Mermaid. From every stretch but Booting and Verifying another wish leads back to the
// beginning; those two are left out of the picture until the boot is over.
func Diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for _, t := range Transitions {
		from := string(t.From)
		if from == "" {
			from = "[*]"
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", from, t.To, t.Why)
	}
	return b.String()
}
