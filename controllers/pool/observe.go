// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/rollout"
)

// sight is what was seen of a pool at one look.
type sight struct {
	labels    map[string]string // by which the members are found, and which new ones get
	members   map[string]*infrav1.RepaveMachine
	owners    map[string]*clusterv1.Machine // by the name of the member they are for
	dangling  []*clusterv1.Machine          // their member is gone
	poolEnds  bool                          // the MachinePool is being deleted, or gone: Cluster API adopts nobody any more
	noHost    []string                      // members for which there is no host
	view      rollout.View
	providers []string // known provider IDs
}

// observe reads everything that is known of a pool: from the cache, or from the API server.
func (r *Reconciler) observe(ctx context.Context, reader client.Reader, pool *infrav1.RepaveMachinePool, owner *clusterv1.MachinePool) (*sight, error) {
	s := &sight{
		labels: memberLabels(pool, owner), members: map[string]*infrav1.RepaveMachine{}, owners: map[string]*clusterv1.Machine{},
		poolEnds: owner == nil || !owner.DeletionTimestamp.IsZero(),
	}
	if s.labels == nil {
		return s, nil // never adopted, so there never was a member
	}
	// Machines first: each is made after its member, so one whose member is missing in the later list has lost it.
	machines := &clusterv1.MachineList{}
	if err := reader.List(ctx, machines, client.InNamespace(pool.Namespace), client.MatchingLabels(s.labels)); err != nil {
		return nil, fmt.Errorf("listing Machines: %w", err)
	}
	members := &infrav1.RepaveMachineList{}
	if err := reader.List(ctx, members, client.InNamespace(pool.Namespace), client.MatchingLabels(s.labels)); err != nil {
		return nil, fmt.Errorf("listing RepaveMachines: %w", err)
	}
	for i := range machines.Items {
		if ref := machines.Items[i].Spec.InfrastructureRef; ref.Kind == infrav1.PoolMachineKind {
			s.owners[ref.Name] = &machines.Items[i]
		}
	}
	s.view = rollout.View{Digest: pool.Spec.Template.Spec.WantedDigest(), Rollout: pool.Spec.Rollout}
	for i := range members.Items {
		s.add(pool, &members.Items[i])
	}
	for name, machine := range s.owners {
		if s.members[name] == nil && machine.DeletionTimestamp.IsZero() {
			s.dangling = append(s.dangling, machine)
		}
	}
	s.view.Replicas = s.wanted(owner)
	return s, nil
}

// memberLabels are the labels by which a pool's members are known; nil where the pool was never adopted.
func memberLabels(pool *infrav1.RepaveMachinePool, owner *clusterv1.MachinePool) map[string]string {
	name, cluster := "", pool.Labels[clusterv1.ClusterNameLabel]
	if owner != nil {
		name, cluster = owner.Name, owner.Spec.ClusterName
	}
	for _, ref := range pool.OwnerReferences {
		if owner == nil && ref.Kind == "MachinePool" {
			name = ref.Name
		}
	}
	if name == "" {
		return nil
	}
	found := map[string]string{clusterv1.MachinePoolNameLabel: format.MustFormatValue(name)}
	if cluster != "" { // not known any more when the MachinePool went first
		found[clusterv1.ClusterNameLabel] = cluster
	}
	return found
}

// add takes one member into the picture.
func (s *sight) add(pool *infrav1.RepaveMachinePool, m *infrav1.RepaveMachine) {
	owner := s.owners[m.Name]
	s.members[m.Name] = m
	member := rollout.Member{
		Name:        m.Name,
		Created:     m.CreationTimestamp.Time,
		Deleting:    !m.DeletionTimestamp.IsZero() || owner != nil && !owner.DeletionTimestamp.IsZero(),
		HasOwner:    owner != nil,
		DeleteFirst: has(m.Annotations, clusterv1.DeleteMachineAnnotation) || owner != nil && has(owner.Annotations, clusterv1.DeleteMachineAnnotation),
		Paused:      annotations.HasPaused(m),
		ByRepave:    m.Spec.Image == nil,
		Aligned:     equality.Semantic.DeepEqual(m.Spec, aligned(pool, m)),
		Provisioned: ptr.Deref(m.Status.Initialization.Provisioned, false),
		Available:   m.Status.Available,
	}
	if m.Spec.Slot != nil {
		member.Slot = m.Spec.Slot.Digest
	}
	if m.Status.HostRef != nil {
		member.Host = m.Status.HostRef.Name
	}
	if m.Status.Image.Booted != nil {
		member.Booted = m.Status.Image.Booted.Digest
	}
	if m.Status.Update != nil {
		member.Step, member.Aim = m.Status.Update.Step, m.Status.Update.Digest
	}
	s.view.Members = append(s.view.Members, member)
	if m.Spec.ProviderID != "" {
		s.providers = append(s.providers, m.Spec.ProviderID)
	}
	if withoutHost(m) && !member.Deleting {
		s.noHost = append(s.noHost, m.Name)
	}
}

// aligned is the spec that a member is to have: the template's, with what is the controllers' kept.
func aligned(pool *infrav1.RepaveMachinePool, m *infrav1.RepaveMachine) infrav1.RepaveMachineSpec {
	spec := *pool.Spec.Template.Spec.DeepCopy()
	spec.ProviderID, spec.Slot = m.Spec.ProviderID, m.Spec.Slot
	return spec
}

// withoutHost says whether a member told that no host is free for it. That is told to people only, so a condition will do.
func withoutHost(m *infrav1.RepaveMachine) bool {
	for _, c := range m.Status.Conditions {
		if c.Type == infrav1.ConditionHostClaimed {
			return c.Reason == infrav1.ReasonNoHostAvailable
		}
	}
	return false
}

// wanted is how many members there are to be: as many as there are where somebody else manages their number.
func (s *sight) wanted(owner *clusterv1.MachinePool) int {
	if owner == nil {
		return 0
	}
	if !annotations.ReplicasManagedByExternalAutoscaler(owner) {
		return int(ptr.Deref(owner.Spec.Replicas, 1))
	}
	present := 0
	for i := range s.view.Members {
		if !s.view.Members[i].Deleting {
			present++
		}
	}
	return present
}

// abandoned are the members that Cluster API will never adopt any more and nobody has deleted yet.
func (s *sight) abandoned() []*infrav1.RepaveMachine {
	var out []*infrav1.RepaveMachine
	for name, member := range s.members {
		if s.poolEnds && s.owners[name] == nil && member.DeletionTimestamp.IsZero() {
			out = append(out, member)
		}
	}
	return out
}

// standing are the Machines that nobody has deleted yet.
func (s *sight) standing() []*clusterv1.Machine {
	var out []*clusterv1.Machine
	for _, machine := range s.owners {
		if machine.DeletionTimestamp.IsZero() {
			out = append(out, machine)
		}
	}
	return out
}

func has(annotations map[string]string, key string) bool {
	_, found := annotations[key]
	return found
}

// selector is the labels of the members as text.
func (s *sight) selector() string { return labels.SelectorFromSet(s.labels).String() }
