// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// story is what the README tells, chapter by chapter. Each chapter asks as a person would and then checks what must hold, from
// the API and from outside: the journals of the servers and of their BMCs.
type story struct {
	*rig
	screen  *screen
	members map[string]*sim.Server // by the name of host and Node
	proven  []string               // for the summary
	took    []string               // how long each chapter took, for the summary
}

func (s *story) run(ctx context.Context) error {
	for _, chapter := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"1. From manifests to a running pool: enrol, claim, netboot, join", s.bringUp},
		{"2. A new image, in place, one host at a time", s.rollOut},
		{"3. Operations by counter: a reboot and a netboot repave", s.operate},
		{"4. An image that does not come up on one server", s.halt},
	} {
		s.screen.chapter(chapter.title)
		started := time.Now()
		if err := chapter.tell(ctx); err != nil {
			return fmt.Errorf("chapter %q: %w", chapter.title, err)
		}
		s.took = append(s.took, fmt.Sprintf("%.1f s", time.Since(started).Seconds()))
		s.screen.say("done in %s", s.took[len(s.took)-1])
	}
	return s.noSecrets(ctx)
}

// prove adds a line to the summary.
func (s *story) prove(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	s.proven = append(s.proven, line)
	s.screen.say("proven: %s", line)
}

// bringUp applies the manifests and waits for the pool.
func (s *story) bringUp(ctx context.Context) error {
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("making the namespace: %w", err)
	}
	// The workload cluster is this same API server; its control plane is there already, which a control-plane provider would say.
	if err := s.controlPlane.CreateKubeconfigSecret(ctx, namespace, cluster); err != nil {
		return err
	}
	manifests, err := s.manifests(ctx)
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		if err := s.kubectl(ctx, "apply", "-f", manifest); err != nil {
			return err
		}
	}
	if err := s.controlPlane.MarkControlPlaneInitialized(ctx, namespace, cluster); err != nil {
		return err
	}
	s.screen.say("asked: a pool of %d on %d servers, at %s", poolSize, fleetSize, s.releases[0].version)
	if err := s.await(ctx, 2*time.Minute, "the pool runs", s.poolRuns); err != nil {
		return err
	}
	return s.checkBroughtUp(ctx)
}

// poolRuns says whether Cluster API sees the pool as running with all its Nodes.
func (s *story) poolRuns(ctx context.Context) (bool, error) {
	var mp clusterv1.MachinePool
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pool}, &mp); err != nil {
		return false, fmt.Errorf("reading the MachinePool: %w", err)
	}
	var machines clusterv1.MachineList
	if err := s.client.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
		return false, fmt.Errorf("reading the Machines: %w", err)
	}
	running := 0
	for _, m := range machines.Items {
		if m.Status.Phase == string(clusterv1.MachinePhaseRunning) && m.Status.NodeRef.IsDefined() && meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.ReadyCondition) {
			running++
		}
	}
	return running == poolSize && len(mp.Status.NodeRefs) == poolSize && ptr.Deref(mp.Status.ReadyReplicas, 0) == poolSize && mp.Status.Phase == string(clusterv1.MachinePoolPhaseRunning), nil
}

func (s *story) checkBroughtUp(ctx context.Context) error {
	s.members = map[string]*sim.Server{}
	var hosts infrav1.RepaveHostList
	if err := s.client.List(ctx, &hosts, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("reading the hosts: %w", err)
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		server := s.fleet.Server(host.Name)
		switch {
		case host.Spec.ClaimRef == nil:
			if resets := len(server.BMC.Resets()); resets != 0 {
				return fmt.Errorf("the free host %s was reset %d times", host.Name, resets)
			}
		case server.Box.Count("Installed") != 1:
			return fmt.Errorf("host %s was installed %d times for one claim", host.Name, server.Box.Count("Installed"))
		default:
			s.members[host.Name] = server
			if err := s.checkNode(ctx, host); err != nil {
				return err
			}
		}
	}
	if len(s.members) != poolSize {
		return fmt.Errorf("%d hosts are claimed, %d are wanted", len(s.members), poolSize)
	}
	s.prove("%d of %d hosts claimed, each installed once, none of the others touched", poolSize, fleetSize)
	s.prove("%d Machines Running and Ready with their Nodes, the MachinePool Running with %d ready", poolSize, poolSize)
	return nil
}

// checkNode holds a host's Node against its provider ID and its boot.
func (s *story) checkNode(ctx context.Context, host *infrav1.RepaveHost) error {
	var node corev1.Node
	if err := s.client.Get(ctx, client.ObjectKey{Name: host.Name}, &node); err != nil {
		return fmt.Errorf("reading the Node of %s: %w", host.Name, err)
	}
	if host.Spec.Desired == nil || node.Spec.ProviderID != host.Spec.Desired.ProviderID {
		return fmt.Errorf("the Node %s has the provider ID %q", node.Name, node.Spec.ProviderID)
	}
	if host.Status.Agent == nil || node.Status.NodeInfo.BootID != host.Status.Agent.BootID {
		return fmt.Errorf("the Node %s does not run in the boot that the agent reports", node.Name)
	}
	return nil
}

// rollOut changes the image and watches the budget from outside.
func (s *story) rollOut(ctx context.Context) error {
	next := s.releases[1]
	if err := s.runPods(ctx); err != nil {
		return err
	}
	watched, stop := context.WithCancel(ctx)
	defer stop()
	b := &budget{rig: s.rig}
	go b.watch(watched, s.members)
	if err := s.setImage(ctx, next); err != nil {
		return err
	}
	s.screen.say("asked: %s on all, maxUnavailable 1", next.version)
	if err := s.await(ctx, 2*time.Minute, "all members run "+next.version, s.allRun(next.os)); err != nil {
		return err
	}
	stop()
	for name, server := range s.members {
		if n := server.Box.Count("Installed"); n != 1 {
			return fmt.Errorf("host %s was installed %d times: an image change in place must not netboot", name, n)
		}
	}
	if err := b.kept(1); err != nil {
		return err
	}
	if err := s.podsMoved(ctx); err != nil {
		return err
	}
	s.prove("all members went to %s in place, their pods evicted first; at most %d unavailable at once, the budget is 1", next.version, b.worst)
	return nil
}

// setImage names another release in the pool.
func (s *story) setImage(ctx context.Context, r release) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"image":{"ref":%q},"netboot":{"image":{"ref":%q}}}}}}`, r.os, r.netboot)
	return s.kubectlPatch(ctx, "repavemachinepool", pool, patch)
}

// allRun says whether every member runs an image, is proven, and takes pods again.
func (s *story) allRun(ref string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		var machines infrav1.RepaveMachineList
		if err := s.client.List(ctx, &machines, client.InNamespace(namespace)); err != nil {
			return false, fmt.Errorf("reading the machines: %w", err)
		}
		digest := (&infrav1.Image{Ref: ref}).Digest()
		if slices.ContainsFunc(machines.Items, func(m infrav1.RepaveMachine) bool {
			return m.Status.Update == nil || m.Status.Update.Step != infrav1.UpdateUpToDate || m.Status.Update.Digest != digest
		}) {
			return false, nil
		}
		for _, server := range s.members {
			if server.Box.Running() != digest {
				return false, nil
			}
		}
		return s.nobodyCordoned(ctx)
	}
}

func (s *story) nobodyCordoned(ctx context.Context) (bool, error) {
	var nodes corev1.NodeList
	if err := s.client.List(ctx, &nodes); err != nil {
		return false, fmt.Errorf("reading the Nodes: %w", err)
	}
	return !slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool { return n.Spec.Unschedulable }), nil
}
