// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/progress"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/view"
)

func (p *plugin) pool() *cobra.Command {
	parent := &cobra.Command{Use: "pool", Short: "Look at pools"}
	var wait bool
	var timeout time.Duration
	status := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show how far the rollout of a pool is, and why its members wait",
		Long: `Show how far the rollout of a pool is, and why its members wait. Without a name: the only pool, or a table of all.

Exit statuses with --wait: 0 all members run the wanted image, 1 halted, 2 passed --timeout (the rollout goes on).`,
		Example:           "  kubectl repave pool status workers --wait",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completer("RepaveMachinePool", 1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.poolStatus(command.Context(), strings.Join(args, ""), wait, timeout)
		},
	}
	status.Flags().BoolVar(&wait, "wait", false, "wait until all members run the wanted image, showing progress")
	status.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "with --wait: how long to wait")
	parent.AddCommand(status)
	return parent
}

func (p *plugin) poolStatus(ctx context.Context, name string, wait bool, timeout time.Duration) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	pools, err := p.pools(ctx, c, name)
	switch {
	case err != nil:
		return err
	case len(pools) == 0:
		return fmt.Errorf("no pools in namespace %s", c.namespace)
	case len(pools) > 1 && wait:
		return errors.New("there are several pools: name the one to wait for")
	case len(pools) > 1:
		_, err := fmt.Fprint(p.Out, (&view.Table{Width: p.width}).Lines(view.Pools(pools)...))
		return err
	}
	if wait {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err = p.awaitPool(ctx, c, pools[0].Name)
		if errors.Is(err, errTimedOut) || ctx.Err() != nil {
			return err
		}
		// How the members stand at the end is worth a page, above all where the rollout is halted.
		if again, listErr := p.pools(ctx, c, pools[0].Name); listErr == nil {
			pools = again
		}
	}
	members, listErr := members(ctx, c, &pools[0])
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	_, printErr := fmt.Fprint(p.Out, view.Pool(&pools[0], members, p.width))
	return errors.Join(err, printErr)
}

// pools gives the pool of a name, or all pools of the namespace.
func (p *plugin) pools(ctx context.Context, c *cluster, name string) ([]infrav1.RepaveMachinePool, error) {
	if name == "" {
		list := &infrav1.RepaveMachinePoolList{}
		err := c.List(ctx, list, client.InNamespace(c.namespace))
		return list.Items, err
	}
	var pool infrav1.RepaveMachinePool
	err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &pool)
	return []infrav1.RepaveMachinePool{pool}, err
}

// members gives the machines of a pool by the selector in its status; none while the controller has not said it.
func members(ctx context.Context, c *cluster, pool *infrav1.RepaveMachinePool) ([]infrav1.RepaveMachine, error) {
	if pool.Status.Selector == "" {
		return nil, nil
	}
	selector, err := labels.Parse(pool.Status.Selector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of pool %s: %w", pool.Name, err)
	}
	list := &infrav1.RepaveMachineList{}
	if err := c.List(ctx, list, &client.ListOptions{Namespace: pool.Namespace, LabelSelector: selector}); err != nil {
		return nil, fmt.Errorf("listing the machines of pool %s: %w", pool.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.RepaveMachine) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// awaitPool shows how far a rollout is until it is over or halted.
func (p *plugin) awaitPool(ctx context.Context, c *cluster, name string) error {
	screen := p.screen()
	options := &client.ListOptions{Namespace: c.namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", name)}
	return follow(ctx, c, &infrav1.RepaveMachinePoolList{}, &infrav1.RepaveMachinePool{}, options, func(kind watch.EventType, object runtime.Object) (bool, error) {
		pool, ok := object.(*infrav1.RepaveMachinePool)
		if !ok {
			return false, nil
		}
		if kind == watch.Deleted {
			return false, fmt.Errorf("pool %s was deleted", name)
		}
		verdict := progress.OfPool(pool)
		line := view.Plain(verdict.Line)
		screen.Show(name, line)
		if verdict.State == progress.Failed {
			return false, errors.New(line)
		}
		return verdict.State == progress.Proven, nil
	})
}
