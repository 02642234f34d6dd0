// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/rollout"
)

// longestPrefix of a member's name: with a dash and five more it is still a label value and a host name.
const longestPrefix = 57

// perform does what was planned. One member that cannot be written does not keep the others from being written; a conflict is
// told by itself only where nothing worse happened.
func (r *Reconciler) perform(ctx context.Context, pool *infrav1.RepaveMachinePool, seen *sight, step rollout.Step) error {
	var conflict error
	var failures []error
	note := func(err error) {
		switch {
		case apierrors.IsConflict(err):
			conflict = err
		case err != nil:
			failures = append(failures, err)
		}
	}
	for _, name := range touched(step) {
		note(r.write(ctx, pool, seen.members[name], step))
	}
	for range step.Create {
		note(r.create(ctx, pool, seen.labels))
	}
	for _, name := range step.Delete {
		note(r.delete(ctx, pool, seen.owners[name], "Deleting machine %s: the pool has more members than wanted"))
	}
	for _, machine := range seen.dangling {
		note(r.delete(ctx, pool, machine, "Deleting machine %s: its RepaveMachine is gone"))
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return conflict
}

// touched are the members that a plan writes, each once.
func touched(step rollout.Step) []string {
	all := slices.Concat(step.Align, step.TakeBack, step.Grant)
	slices.Sort(all)
	return slices.Compact(all)
}

// write brings the spec of one member to what was planned for it. The optimistic lock makes the write count only for the member
// that was planned for: a slot is never granted to one that has changed since.
func (r *Reconciler) write(ctx context.Context, pool *infrav1.RepaveMachinePool, member *infrav1.RepaveMachine, step rollout.Step) error {
	before := member.DeepCopy()
	after := member.DeepCopy()
	after.Spec = aligned(pool, member)
	if slices.Contains(step.TakeBack, member.Name) {
		after.Spec.Slot = nil
	}
	if slices.Contains(step.Grant, member.Name) {
		after.Spec.Slot = &infrav1.MachineSlot{Digest: after.Spec.WantedDigest()}
	}
	ctrl.LoggerFrom(ctx).V(2).Info("Writing machine", "RepaveMachine", klog.KObj(member),
		"image", after.Spec.WantedDigest(), "slot", after.Spec.Slot != nil)
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("patching RepaveMachine %s: %w", member.Name, err)
	}
	return nil
}

// create makes one member. A name that is taken is an error; the next look takes another.
func (r *Reconciler) create(ctx context.Context, pool *infrav1.RepaveMachinePool, labels map[string]string) error {
	prefix := strings.TrimRight(pool.Name[:min(len(pool.Name), longestPrefix)], "-.")
	template := pool.Spec.Template.DeepCopy()
	member := &infrav1.RepaveMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pool.Namespace, Name: prefix + "-" + r.Suffix(),
			Labels: template.ObjectMeta.Labels, Annotations: template.ObjectMeta.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: poolKind.GroupVersion().String(), Kind: poolKind.Kind, Name: pool.Name, UID: pool.UID,
			}},
		},
		Spec: template.Spec,
	}
	if member.Labels == nil {
		member.Labels = map[string]string{}
	}
	if value, found := pool.Labels[clusterv1.WatchLabel]; found {
		member.Labels[clusterv1.WatchLabel] = value
	}
	for key, value := range labels {
		member.Labels[key] = value
	}
	ctrl.LoggerFrom(ctx).V(2).Info("Creating machine", "RepaveMachine", klog.KObj(member))
	if err := r.Client.Create(ctx, member); err != nil {
		return fmt.Errorf("creating RepaveMachine %s: %w", member.Name, err)
	}
	r.Recorder.Eventf(pool, member, corev1.EventTypeNormal, infrav1.EventMachineCreated, "CreateMachine", "Created machine %s", member.Name)
	return nil
}

// delete deletes a Machine, so that Cluster API drains its Node and then deletes the member.
func (r *Reconciler) delete(ctx context.Context, pool *infrav1.RepaveMachinePool, machine *clusterv1.Machine, why string) error {
	ctrl.LoggerFrom(ctx).V(2).Info("Deleting machine", "Machine", klog.KObj(machine))
	err := r.Client.Delete(ctx, machine, client.Preconditions{UID: &machine.UID})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting Machine %s: %w", machine.Name, err)
	}
	r.Recorder.Eventf(pool, machine, corev1.EventTypeNormal, infrav1.EventMachineDeleted, "DeleteMachine", why, machine.Name)
	return nil
}

// deleteAll deletes all that is left of a pool: the Machines, and those members that Cluster API will never adopt any more.
func (r *Reconciler) deleteAll(ctx context.Context, pool *infrav1.RepaveMachinePool, seen *sight) error {
	var failures []error
	for _, machine := range seen.standing() {
		failures = append(failures, r.delete(ctx, pool, machine, "Deleting machine %s: the pool is being deleted"))
	}
	for _, member := range seen.abandoned() {
		ctrl.LoggerFrom(ctx).V(2).Info("Deleting machine that was never adopted", "RepaveMachine", klog.KObj(member))
		err := r.Client.Delete(ctx, member, client.Preconditions{UID: &member.UID})
		failures = append(failures, client.IgnoreNotFound(err))
	}
	return errors.Join(failures...)
}
