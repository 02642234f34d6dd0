// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/progress"
)

// defaultTimeout of a wait: longer than most repaves take, shorter than all attempts of one.
const defaultTimeout = 30 * time.Minute

// operateOptions are the flags of reboot and repave.
type operateOptions struct {
	kind    infrav1.OperationKind
	wait    bool
	timeout time.Duration
	yes     bool
}

func (p *plugin) reboot() *cobra.Command {
	return p.operate(operateOptions{kind: infrav1.OperationReboot, yes: true}, &cobra.Command{
		Use:     "reboot HOST...",
		Short:   "Ask for a reboot of hosts, by raising spec.operations.rebootCounter",
		Example: "  kubectl repave reboot r12 --wait",
	})
}

func (p *plugin) repave() *cobra.Command {
	o := operateOptions{kind: infrav1.OperationRepave}
	return p.operate(o, &cobra.Command{
		Use:     "repave HOST...",
		Short:   "Ask for a netboot repave of hosts, which wipes their disks, by raising spec.operations.repaveCounter",
		Example: "  kubectl repave repave r12 --wait\n  kubectl repave repave r12 r13 --yes --wait --timeout 1h",
	})
}

func (p *plugin) operate(o operateOptions, command *cobra.Command) *cobra.Command {
	command.Args = cobra.MinimumNArgs(1)
	command.ValidArgsFunction = p.completer("RepaveHost", 0)
	command.Long = command.Short + ".\n\n" + `The counter is raised by one above what was asked for and acknowledged so far. The controller carries the operation out, and
acknowledges it when the next boot proves it. Asking again while one is in flight leads to one more after it.

Exit statuses with --wait: 0 proven, 1 given up or not possible, 2 passed --timeout (the operation goes on).`
	command.RunE = func(command *cobra.Command, names []string) error {
		slices.Sort(names)
		return p.raise(command.Context(), slices.Compact(names), o)
	}
	command.Flags().BoolVar(&o.wait, "wait", false, "wait until the outcome is proven, showing progress")
	command.Flags().DurationVar(&o.timeout, "timeout", defaultTimeout, "with --wait: how long to wait")
	if o.kind == infrav1.OperationRepave {
		command.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before disks are wiped")
	}
	return command
}

// raise raises the counter of every host and, if wished, waits for all of them.
func (p *plugin) raise(ctx context.Context, names []string, o operateOptions) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	// All names are looked up before the first counter is raised: a mistyped name must not leave half of them rebooting.
	for _, name := range names {
		host := &infrav1.RepaveHost{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, host); err != nil {
			return fmt.Errorf("reading host %s: %w", name, err)
		}
		if missing := progress.Obstacle(host, o.kind); missing != "" {
			fmt.Fprintf(p.ErrOut, "warning: %s: %s; the controller begins no %s without it\n", name, missing, strings.ToLower(string(o.kind)))
		}
	}
	if !o.yes {
		if err := p.confirm(names); err != nil {
			return err
		}
	}
	asked := map[string]progress.Ask{}
	for _, name := range names {
		if asked[name], err = p.ask(ctx, c, name, o.kind); err != nil {
			return fmt.Errorf("asking for a %s of host %s: %w", strings.ToLower(string(o.kind)), name, err)
		}
	}
	if !o.wait {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return p.await(ctx, c, asked)
}

// ask raises the counter of one host, under an optimistic lock: two people who ask at the same time get two numbers.
func (p *plugin) ask(ctx context.Context, c *cluster, name string, kind infrav1.OperationKind) (progress.Ask, error) {
	var ask progress.Ask
	host := &infrav1.RepaveHost{}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, host); err != nil {
			return err
		}
		before := client.MergeFromWithOptions(host.DeepCopy(), client.MergeFromWithOptimisticLock{})
		ask = progress.Next(host, kind)
		if kind == infrav1.OperationReboot {
			host.Spec.Operations.RebootCounter = ask.Counter
		} else {
			host.Spec.Operations.RepaveCounter = ask.Counter
		}
		return c.Patch(ctx, host, before, client.FieldOwner(fieldOwner))
	})
	if err != nil {
		return ask, err
	}
	more := ""
	if op := host.Status.Operation; op != nil && op.Step != infrav1.StepGaveUp {
		more = fmt.Sprintf(" (after the %s that is in flight)", strings.ToLower(string(op.Kind)))
	}
	fmt.Fprintf(p.Out, "%s: asked for %s%s\n", name, ask, more)
	return ask, nil
}
