// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// await shows the fleet until a condition holds, and says what was waited for when its time is over or a process is gone.
func (s *story) await(ctx context.Context, limit time.Duration, what string, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		s.refresh(ctx)
		ok, err := holds(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
		case err != nil:
			return fmt.Errorf("waiting until %s: %w", what, err)
		case ok:
			s.refresh(ctx)
			return nil
		}
		for _, p := range s.controlPlane.Processes() {
			if err := p.Err(); err != nil {
				return fmt.Errorf("waiting until %s: %s ended: %w\n%s", what, p.Name(), err, p.Tail(10))
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// refresh shows hosts and pool as they are now; a failed look keeps the last picture.
func (s *story) refresh(ctx context.Context) {
	var hosts infrav1.RepaveHostList
	var machines infrav1.RepaveMachineList
	var p infrav1.RepaveMachinePool
	if s.client.List(ctx, &hosts, client.InNamespace(namespace)) != nil || s.client.List(ctx, &machines, client.InNamespace(namespace)) != nil {
		return
	}
	updates := map[string]*infrav1.RepaveMachine{}
	for i := range machines.Items {
		updates[machines.Items[i].Name] = &machines.Items[i]
	}
	var rows []row
	for i := range hosts.Items {
		rows = append(rows, hostRow(&hosts.Items[i], updates))
	}
	footer := ""
	if s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pool}, &p) == nil {
		if c := meta.FindStatusCondition(p.Status.Conditions, infrav1.ConditionUpToDate); c != nil {
			footer = c.Reason + ": " + c.Message
		}
	}
	s.screen.show(rows, footer)
}

func hostRow(h *infrav1.RepaveHost, machines map[string]*infrav1.RepaveMachine) row {
	r := row{name: h.Name, phase: string(h.Status.Phase), power: string(h.Status.Power)}
	if h.Status.NodeRef != nil {
		r.node = h.Status.NodeRef.Name
	}
	if a := h.Status.Agent; a != nil && a.Booted != nil {
		r.booted = a.Booted.Version
		if a.Staged != nil {
			r.booted += " (" + a.Staged.Version + " staged)"
		}
	}
	if c := meta.FindStatusCondition(h.Status.Conditions, infrav1.ConditionReady); c != nil {
		r.why = c.Reason
	}
	if op := h.Status.Operation; op != nil {
		r.why = fmt.Sprintf("%s: %s (attempt %d)", op.Kind, op.Step, op.Attempt)
	}
	if claim := h.Spec.ClaimRef; claim != nil {
		r.machine = claim.Name
		if m := machines[claim.Name]; m != nil && m.Status.Update != nil && h.Status.Operation == nil {
			r.why = string(m.Status.Update.Step)
		}
	}
	return r
}
