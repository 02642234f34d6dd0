// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
	"github.com/repave-io/cluster-api-provider-repave/controllers/placement"
	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
)

// bootstrapData is the name of the Secret by which the host joins; "" while there is none. Members of a pool share that of
// their MachinePool, because Cluster API leaves it out of the Machines that it makes for them.
func (r *Reconciler) bootstrapData(ctx context.Context, s *scene) (string, error) {
	if _, member := s.machine.Labels[clusterv1.MachinePoolNameLabel]; !member {
		return ptr.Deref(s.owner.Spec.Bootstrap.DataSecretName, ""), nil
	}
	pool, err := util.GetMachinePoolByLabels(ctx, r.Client, s.machine.Namespace, s.machine.Labels)
	if err != nil {
		return "", fmt.Errorf("finding machine pool: %w", err)
	}
	if pool == nil {
		return "", nil
	}
	return ptr.Deref(pool.Spec.Template.Spec.Bootstrap.DataSecretName, ""), nil
}

// claimedHost gives the host that names the machine, looked up by the saved choice; nil when that one does not.
func (r *Reconciler) claimedHost(ctx context.Context, machine *infrav1.RepaveMachine) (*infrav1.RepaveHost, error) {
	name := machine.Annotations[infrav1.AnnotationHost]
	if name == "" {
		return nil, nil
	}
	host := &infrav1.RepaveHost{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: name}, host); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !names(host, machine) {
		return nil, nil
	}
	return host, nil
}

// upToNow gives the host, read live where the machine has saved that it begins a boot and the host does not show that wish. A cache
// that is late must not make a boot that was asked for look like one that never was: its Node would go back to pods and then down.
func (r *Reconciler) upToNow(ctx context.Context, machine *infrav1.RepaveMachine, host *infrav1.RepaveHost) (*infrav1.RepaveHost, error) {
	begun := machine.Status.Update
	if begun == nil || begun.Step != infrav1.UpdateBooting {
		return host, nil
	}
	if asked := hostFacts(host); asked.Desired == begun.Digest && asked.State == infrav1.DesiredBooted {
		return host, nil
	}
	live := &infrav1.RepaveHost{}
	err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(host), live)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("reading host that may be booting: %w", err)
	case err != nil || !names(live, machine):
		return host, nil // lost; every write on this version is a conflict, and the cache will tell
	}
	return live, nil
}

// names says whether a host serves the machine. The name decides: the uid changes with a move between management clusters.
func names(host *infrav1.RepaveHost, machine *infrav1.RepaveMachine) bool {
	return host.Spec.ClaimRef != nil && host.Spec.ClaimRef.Name == machine.Name
}

// choose looks at all hosts of the namespace and asks for a choice. The hosts are the cache's own: copy before changing one.
func (r *Reconciler) choose(ctx context.Context, s *scene) (placement.Decision, *infrav1.RepaveHost, error) {
	key := client.ObjectKeyFromObject(s.machine)
	r.queue.wait(key)
	selector, err := metav1.LabelSelectorAsSelector(s.machine.Spec.HostSelector)
	if err != nil {
		return placement.Decision{Verdict: placement.Wait, Message: "the hostSelector is invalid: " + err.Error()}, nil, nil
	}
	if s.machine.Spec.HostSelector == nil {
		selector = labels.Everything()
	}
	hosts := &infrav1.RepaveHostList{}
	if err := r.Client.List(ctx, hosts, client.InNamespace(s.machine.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return placement.Decision{}, nil, fmt.Errorf("listing hosts: %w", err)
	}
	view := placement.View{
		Machine: s.machine.Name, Selector: selector, FailureDomain: s.owner.Spec.FailureDomain, Saved: s.machine.Annotations[infrav1.AnnotationHost],
	}
	for i := range hosts.Items {
		view.Hosts = append(view.Hosts, candidate(&hosts.Items[i], s.machine.Spec.Netboot != nil))
	}
	var decision placement.Decision
	r.queue.choose(key, r.Now(), func(taken func(string) bool) string {
		for i := range view.Hosts {
			view.Hosts[i].Reserved = taken(view.Hosts[i].Name)
		}
		decision = placement.Choose(view)
		if decision.Verdict != placement.Save {
			return ""
		}
		return decision.Host
	})
	for i := range hosts.Items {
		if hosts.Items[i].Name == decision.Host {
			return decision, hosts.Items[i].DeepCopy(), nil
		}
	}
	return decision, nil, nil
}

// candidate is what placement needs to know of a host. Whether the host is ready is the Host controller's word to others.
func candidate(host *infrav1.RepaveHost, netboot bool) placement.Host {
	c := placement.Host{
		Name: host.Name, Labels: host.Labels, Zone: host.Labels[infrav1.LabelZone],
		Deleting: !host.DeletionTimestamp.IsZero(), Paused: annotations.HasPaused(host),
		Available: meta.IsStatusConditionTrue(host.Status.Conditions, infrav1.ConditionReady) && host.Status.Operation == nil,
		Powered:   host.Status.Power == infrav1.PowerOn,
	}
	if host.Spec.ClaimRef != nil {
		c.Claimant = host.Spec.ClaimRef.Name
	}
	if netboot {
		c.Unfit = host.Spec.BMC == nil || host.Spec.RootDevice == nil
	} else {
		c.Unfit = !agentConnected(host)
	}
	return c
}

func agentConnected(host *infrav1.RepaveHost) bool {
	return meta.IsStatusConditionTrue(host.Status.Conditions, infrav1.ConditionAgentConnected)
}

// node looks for the Node of the machine and keeps the watch on it.
func (r *Reconciler) node(ctx context.Context, s *scene, providerID string) (drain.NodeFacts, bool, error) {
	if s.cluster == nil {
		return drain.NodeFacts{}, false, nil
	}
	key := client.ObjectKeyFromObject(s.cluster)
	facts, err := r.Nodes.Node(ctx, key, providerID)
	if err == nil && r.nodeWatcher != nil {
		err = r.Nodes.WatchNodes(ctx, key, r.nodeWatcher, nodeHandler())
	}
	if errors.Is(err, drain.ErrUnreachable) {
		return drain.NodeFacts{}, false, nil
	}
	if err != nil {
		return drain.NodeFacts{}, false, fmt.Errorf("observing node: %w", err)
	}
	return facts, true, nil
}

// updateView gathers what the next step of an in-place repave depends on.
func (r *Reconciler) updateView(s *scene, host *infrav1.RepaveHost, node drain.NodeFacts, reachable bool) update.View {
	machine := s.machine
	progress := r.Drains.Progress(client.ObjectKeyFromObject(machine))
	v := update.View{
		Now: r.Now(), Limits: r.Limits,
		Wanted: machine.Spec.Image.Digest(), Netboot: machine.Spec.Netboot.Digest(), Update: machine.Status.Update,
		Host: hostFacts(host),
		Node: update.NodeFacts{
			Unreachable: !reachable, Found: node.Found, Ready: node.Ready, Unschedulable: node.Unschedulable,
			Cordoned: node.CordonedBy == noteOf(machine), BootID: node.BootID,
		},
		Drain: update.DrainFacts{State: update.DrainState(progress.State), Message: progress.Message},
	}
	if machine.Spec.Slot != nil {
		v.Slot = machine.Spec.Slot.Digest
	}
	return v
}

func hostFacts(host *infrav1.RepaveHost) update.HostFacts {
	facts := update.HostFacts{Connected: agentConnected(host), Operation: host.Status.Operation != nil}
	if desired := host.Spec.Desired; desired != nil {
		facts.Desired, facts.State = desired.Image.Digest(), desired.State
	}
	agent := host.Status.Agent
	if agent == nil {
		return facts
	}
	facts.BootID = agent.BootID
	if agent.Booted != nil {
		facts.Booted = agent.Booted.Digest
	}
	if agent.Staged != nil {
		facts.Staged = agent.Staged.Digest
	}
	if agent.Install != nil {
		facts.Installed = agent.Install.Digest
	}
	if agent.Failure != nil {
		facts.Failure = *agent.Failure
	}
	return facts
}

// noteOf is what the machine writes on a Node that it cordons.
func noteOf(machine *infrav1.RepaveMachine) string { return machine.Namespace + "/" + machine.Name }
