// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

func (s *story) host(ctx context.Context, name string) (*infrav1.RepaveHost, error) {
	var host infrav1.RepaveHost
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &host); err != nil {
		return nil, fmt.Errorf("reading host %s: %w", name, err)
	}
	return &host, nil
}

// memberNames are the hosts of the pool, sorted.
func (s *story) memberNames() []string { return slices.Sorted(maps.Keys(s.members)) }

// operate bumps a reboot counter on one host and a repave counter on another.
func (s *story) operate(ctx context.Context) error {
	names := s.memberNames()
	rebooted, repaved := names[0], names[1]
	offs, ons := resets(s.members[rebooted].BMC)
	installs := s.members[repaved].Box.Count("Installed")
	before, err := s.host(ctx, rebooted)
	if err != nil {
		return err
	}
	if err := s.bump(ctx, rebooted, "rebootCounter"); err != nil {
		return err
	}
	if err := s.bump(ctx, repaved, "repaveCounter"); err != nil {
		return err
	}
	s.screen.say("asked: kubectl patch rebootCounter=1 on %s, repaveCounter=1 on %s", rebooted, repaved)
	err = s.await(ctx, 2*time.Minute, "both counters are acknowledged", func(ctx context.Context) (bool, error) {
		a, err := s.host(ctx, rebooted)
		if err != nil {
			return false, err
		}
		b, err := s.host(ctx, repaved)
		if err != nil {
			return false, err
		}
		return a.Status.Operations.RebootCounter == 1 && a.Status.Operation == nil &&
			b.Status.Operations.RepaveCounter == 1 && b.Status.Operation == nil, nil
	})
	if err != nil {
		return err
	}
	if err := s.await(ctx, time.Minute, "both serve again", s.allRun(s.releases[1].os)); err != nil {
		return err
	}
	after, err := s.host(ctx, rebooted)
	if err != nil {
		return err
	}
	newOffs, newOns := resets(s.members[rebooted].BMC)
	switch {
	case newOffs != offs+1 || newOns != ons+1:
		return fmt.Errorf("one reboot of %s took %d power-offs and %d power-ons", rebooted, newOffs-offs, newOns-ons)
	case before.Status.Agent.BootID == after.Status.Agent.BootID:
		return fmt.Errorf("host %s runs in the same boot as before its reboot", rebooted)
	case s.members[repaved].Box.Count("Installed") != installs+1:
		return fmt.Errorf("one repave of %s installed it %d times", repaved, s.members[repaved].Box.Count("Installed")-installs)
	}
	s.prove("%s rebooted through Redfish: one off, one on, another boot ID, acknowledged once", rebooted)
	s.prove("%s repaved from the network: installed once, the order proven by its agent, acknowledged once", repaved)
	return nil
}

// resets counts what a BMC was told and did: power taken away, and given.
func resets(bmc *virtual.Server) (offs, ons int) {
	for _, reset := range bmc.Resets() {
		switch reset.Type {
		case "On":
			ons++
		default:
			offs++
		}
	}
	return offs, ons
}

func (s *story) bump(ctx context.Context, name, counter string) error {
	return s.kubectlPatch(ctx, "repavehost", name, fmt.Sprintf(`{"spec":{"operations":{%q:1}}}`, counter))
}

// halt rolls out an image that does not come up on one server: that one goes back by itself, and the rollout stops. The rollout
// is paused until the image is staged everywhere, so that slots are granted in the order of the machines' names.
func (s *story) halt(ctx context.Context) error {
	next := s.releases[2]
	digest := (&infrav1.Image{Ref: next.os}).Digest()
	names, err := s.membersByMachine(ctx)
	if err != nil {
		return err
	}
	bad := names[1]
	faults := s.members[bad].Box.Faults()
	faults.BadImages = map[string]bool{digest: true}
	s.members[bad].Box.SetFaults(faults)
	if err := s.pause(ctx, true); err != nil {
		return err
	}
	if err := s.setImage(ctx, next); err != nil {
		return err
	}
	s.screen.say("asked: %s on all, maxFailed 1, paused; on %s it does not come up", next.version, bad)
	if err := s.await(ctx, 2*time.Minute, "all members have staged "+next.version, s.allStaged(digest)); err != nil {
		return err
	}
	if err := s.pause(ctx, false); err != nil {
		return err
	}
	s.screen.say("asked: go on")
	var message string
	err = s.await(ctx, 2*time.Minute, "the rollout halts and nobody is cordoned", func(ctx context.Context) (bool, error) {
		var p infrav1.RepaveMachinePool
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pool}, &p); err != nil {
			return false, fmt.Errorf("reading the pool: %w", err)
		}
		condition := meta.FindStatusCondition(p.Status.Conditions, infrav1.ConditionUpToDate)
		if condition == nil || condition.Reason != infrav1.ReasonHalted || len(s.updatingMembers(ctx)) > 0 {
			return false, nil
		}
		message = condition.Message
		return s.nobodyCordoned(ctx)
	})
	if err != nil {
		return err
	}
	old := (&infrav1.Image{Ref: s.releases[1].os}).Digest()
	if running := s.members[bad].Box.Running(); running != old {
		return fmt.Errorf("host %s runs %q after it went back", bad, running)
	}
	if tries := s.members[bad].Box.Count("BootFailed"); tries != 1 {
		return fmt.Errorf("host %s tried the bad image %d times", bad, tries)
	}
	for i, name := range names {
		if running := s.members[name].Box.Running(); i > 1 && running != old {
			return fmt.Errorf("the rollout went on to %s in spite of the failure of %s", name, bad)
		}
	}
	s.prove("%s went back to %s by itself, tried %s once; the rollout halted: %s", bad, s.releases[1].version, next.version, message)
	return nil
}

// membersByMachine are the hosts of the pool in the order of their machines' names.
func (s *story) membersByMachine(ctx context.Context) ([]string, error) {
	var machines infrav1.RepaveMachineList
	if err := s.client.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("reading the machines: %w", err)
	}
	slices.SortFunc(machines.Items, func(a, b infrav1.RepaveMachine) int { return strings.Compare(a.Name, b.Name) })
	var names []string
	for _, m := range machines.Items {
		if m.Status.HostRef == nil || s.members[m.Status.HostRef.Name] == nil {
			return nil, fmt.Errorf("machine %s has no host of the pool", m.Name)
		}
		names = append(names, m.Status.HostRef.Name)
	}
	return names, nil
}

// pause stops or continues the rollout.
func (s *story) pause(ctx context.Context, paused bool) error {
	return s.kubectlPatch(ctx, "repavemachinepool", pool, fmt.Sprintf(`{"spec":{"rollout":{"paused":%t}}}`, paused))
}

// allStaged says whether every member has an image waiting.
func (s *story) allStaged(digest string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		var machines infrav1.RepaveMachineList
		if err := s.client.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
			return false, fmt.Errorf("reading the machines: %w", err)
		}
		return !slices.ContainsFunc(machines.Items, func(m infrav1.RepaveMachine) bool {
			return m.Status.Update == nil || m.Status.Update.Step != infrav1.UpdateStaged || m.Status.Update.Digest != digest
		}), nil
	}
}

// updatingMembers are those that hold a slot and have neither reached nor failed their image.
func (s *story) updatingMembers(ctx context.Context) []string {
	var machines infrav1.RepaveMachineList
	if err := s.client.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
		return []string{err.Error()}
	}
	var names []string
	for _, m := range machines.Items {
		if u := m.Status.Update; u != nil && slices.Contains([]infrav1.UpdateStep{infrav1.UpdateDraining, infrav1.UpdateBooting, infrav1.UpdateVerifying, infrav1.UpdateUncordoning}, u.Step) {
			names = append(names, m.Name)
		}
	}
	return names
}
