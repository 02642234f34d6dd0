// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	"k8s.io/utils/ptr"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Pools gives a table of pools, headings first.
func Pools(pools []infrav1.RepaveMachinePool) [][]string {
	rows := [][]string{{"NAME", "REPLICAS", "READY", "UPTODATE", "UPDATING", "DEGRADED", "TARGET", "DEPLOYED", "ROLLOUT"}}
	for i := range pools {
		s := &pools[i].Status
		rows = append(rows, []string{
			pools[i].Name, number(s.Replicas), number(s.ReadyReplicas), number(s.UpToDateReplicas), number(s.UpdatingReplicas), number(s.DegradedReplicas),
			Digest(s.TargetDigest), Digest(s.DeployedDigest), Why(s.Conditions, infrav1.ConditionUpToDate),
		})
	}
	return rows
}

// Pool shows one pool and its members, clipped to a width (0: not at all).
func Pool(pool *infrav1.RepaveMachinePool, members []infrav1.RepaveMachine, width int) string {
	var p page
	s := &pool.Status
	p.section("Pool "+pool.Name,
		[2]string{"Target", s.TargetDigest}, [2]string{"Deployed", s.DeployedDigest},
		[2]string{"Rollout", Why(s.Conditions, infrav1.ConditionUpToDate)},
		[2]string{"Ready", Why(s.Conditions, infrav1.ConditionReady)},
		[2]string{"Degraded", Why(s.Conditions, infrav1.ConditionDegraded)},
		[2]string{"Replicas", fmt.Sprintf("%s: %s ready, %s up to date, %s updating, %s degraded, %s unavailable", number(s.Replicas), number(s.ReadyReplicas),
			number(s.UpToDateReplicas), number(s.UpdatingReplicas), number(s.DegradedReplicas), number(s.UnavailableReplicas))},
	)
	rows := [][]string{{"MACHINE", "HOST", "NODE", "BOOTED", "STEP", "AVAILABLE", "WHY"}}
	for i := range members {
		rows = append(rows, member(&members[i]))
	}
	if len(members) > 0 {
		p.WriteString("\n" + (&Table{Width: width}).Lines(rows...))
	}
	return p.String()
}

func member(machine *infrav1.RepaveMachine) []string {
	s := &machine.Status
	var host, node, step string
	if s.HostRef != nil {
		host = s.HostRef.Name
	}
	if s.NodeRef != nil {
		node = s.NodeRef.Name
	}
	why := Why(s.Conditions, infrav1.ConditionReady)
	if s.Update != nil {
		step = string(s.Update.Step)
		if s.Update.Message != "" && s.Update.Step != infrav1.UpdateUpToDate {
			why = s.Update.Message // closer to what holds this member up than whether it serves
		}
	}
	return []string{machine.Name, host, node, Image(s.Image.Booted), step, fmt.Sprint(s.Available), why}
}

func number(n *int32) string { return fmt.Sprint(ptr.Deref(n, 0)) }
