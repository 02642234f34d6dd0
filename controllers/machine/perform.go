// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
)

// serve claims a host for the machine and takes it to what the machine wants.
func (r *Reconciler) serve(ctx context.Context, s *scene) (ctrl.Result, error) {
	seen := sight{}
	result, err := r.advance(ctx, s, &seen)
	if err != nil && seen.step == nil {
		return result, err
	}
	// What was decided is told also where doing it failed.
	r.report(s, seen)
	if err := r.save(ctx, s); err != nil {
		return result, fmt.Errorf("saving status: %w", err)
	}
	return result, err
}

func (r *Reconciler) advance(ctx context.Context, s *scene, seen *sight) (ctrl.Result, error) {
	data, err := r.bootstrapData(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	host, err := r.claimedHost(ctx, s.machine)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading claimed host: %w", err)
	}
	if host == nil {
		claimed, result, err := r.claim(ctx, s, data, seen)
		if err != nil || claimed == nil {
			return result, err
		}
		host = claimed
	} else {
		r.queue.drop(client.ObjectKeyFromObject(s.machine))
	}
	seen.host = host
	return r.follow(ctx, s, host, data, seen)
}

// follow keeps the wish on the claimed host up to date and does what the in-place repave needs next.
func (r *Reconciler) follow(ctx context.Context, s *scene, host *infrav1.RepaveHost, data string, seen *sight) (ctrl.Result, error) {
	if err := r.provision(ctx, s, host); err != nil {
		return ctrl.Result{}, err
	}
	provisioned := ptr.Deref(s.machine.Status.Initialization.Provisioned, false)
	if !provisioned {
		return ctrl.Result{}, r.ask(ctx, s.machine, host, desiredOf(s.machine, host, data, nil))
	}
	host, err := r.upToNow(ctx, s.machine, host)
	if err != nil {
		return ctrl.Result{}, err
	}
	seen.host = host
	node, reachable, err := r.node(ctx, s, s.machine.Spec.ProviderID)
	if err != nil {
		return ctrl.Result{}, err
	}
	step := update.Next(r.updateView(s, host, node, reachable))
	seen.node, seen.reachable, seen.step = node, reachable, &step
	if err := r.saveStep(ctx, s, step); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.ask(ctx, s.machine, host, desiredOf(s.machine, host, data, &step)); err != nil {
		return ctrl.Result{}, fmt.Errorf("asking host: %w", err)
	}
	result := ctrl.Result{RequeueAfter: step.Again}
	err = r.perform(ctx, s, step.Effect, node)
	if errors.Is(err, drain.ErrUnreachable) || !reachable {
		if result.RequeueAfter == 0 || result.RequeueAfter > unreachablePause {
			result.RequeueAfter = unreachablePause
		}
		return result, nil
	}
	return result, err
}

// provision notes the provider ID, then that the infrastructure is there, once the host proved its install and its agent
// reports. Neither is ever taken back.
func (r *Reconciler) provision(ctx context.Context, s *scene, host *infrav1.RepaveHost) error {
	providerID := ProviderID(s.machine.Namespace, host.Name, s.machine.Name)
	if ptr.Deref(s.machine.Status.Initialization.Provisioned, false) || host.Status.Installed != providerID || !agentConnected(host) {
		return nil
	}
	if s.machine.Spec.ProviderID != providerID {
		err := r.patchObject(ctx, s, func(machine *infrav1.RepaveMachine) { machine.Spec.ProviderID = providerID })
		if err != nil {
			return fmt.Errorf("setting provider ID: %w", err)
		}
	}
	s.machine.Status.Initialization.Provisioned = ptr.To(true)
	return nil
}

// saveStep stores the progress before anything is done for it, and ends a drain that is not wanted any more.
func (r *Reconciler) saveStep(ctx context.Context, s *scene, step update.Step) error {
	old := s.machine.Status.Update
	if step.Update.Step != infrav1.UpdateDraining {
		r.Drains.Cancel(client.ObjectKeyFromObject(s.machine))
	}
	if old != nil && equality.Semantic.DeepEqual(*old, step.Update) {
		return nil
	}
	s.machine.Status.Update = &step.Update
	if err := r.save(ctx, s); err != nil {
		return fmt.Errorf("saving step: %w", err)
	}
	r.tell(s.machine, old, step)
	return nil
}

// perform does one effect. It is the only caller of the hands that change something in workload clusters.
func (r *Reconciler) perform(ctx context.Context, s *scene, effect update.Effect, node drain.NodeFacts) error {
	if s.cluster == nil || !node.Found {
		return nil
	}
	log := ctrl.LoggerFrom(ctx).WithValues("Node", node.Name)
	cluster := client.ObjectKeyFromObject(s.cluster)
	switch effect.(type) {
	case update.Cordon:
		log.V(2).Info("Cordoning node")
		// Pods may have come since an earlier drain was done.
		r.Drains.Cancel(client.ObjectKeyFromObject(s.machine))
		return r.Nodes.Cordon(ctx, cluster, node.Name, noteOf(s.machine))
	case update.Uncordon:
		log.V(2).Info("Uncordoning node")
		return r.Nodes.Uncordon(ctx, cluster, node.Name, noteOf(s.machine))
	case update.Drain:
		log.V(2).Info("Draining node")
		r.Drains.Drain(client.ObjectKeyFromObject(s.machine), cluster, node.Name, s.machine.Spec.Drain)
	case update.SetDesired, update.None:
		// The wish is part of what every look compares with the host.
	}
	return nil
}

// desiredOf is what a host of the machine is to be asked for. Without a step nothing runs in place yet; with one, its effect
// says how far the image may go, and the image stays as it is while a boot is under way.
func desiredOf(machine *infrav1.RepaveMachine, host *infrav1.RepaveHost, data string, step *update.Step) infrav1.HostDesired {
	wanted := machine.Spec.Image
	desired := infrav1.HostDesired{Image: wanted, State: infrav1.DesiredStaged, BootstrapDataSecretName: data}
	if old := host.Spec.Desired; old != nil && names(host, machine) {
		if data == "" {
			desired.BootstrapDataSecretName = old.BootstrapDataSecretName
		}
		if step != nil {
			desired.Image, desired.State = imageOf(wanted, *old, *step)
		}
	}
	desired.Netboot = machine.Spec.Netboot
	desired.ProviderID = ProviderID(machine.Namespace, host.Name, machine.Name)
	return desired
}

func imageOf(wanted *infrav1.Image, old infrav1.HostDesired, step update.Step) (*infrav1.Image, infrav1.DesiredState) {
	set, asks := step.Effect.(update.SetDesired)
	switch {
	case asks && set.Digest == wanted.Digest():
		return wanted, set.State
	case asks && set.Digest == old.Image.Digest():
		return old.Image, set.State
	case !step.Hold && wanted == nil:
		return nil, infrav1.DesiredStaged
	case !step.Hold && wanted.Digest() == old.Image.Digest():
		// Another pull secret or registry for the same bytes.
		return wanted, old.State
	default:
		return old.Image, old.State
	}
}
