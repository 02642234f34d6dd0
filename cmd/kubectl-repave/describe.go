// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/view"
)

func (p *plugin) host() *cobra.Command {
	parent := &cobra.Command{Use: "host", Short: "Look at one host"}
	parent.AddCommand(&cobra.Command{
		Use:               "describe NAME",
		Short:             "Show all that is known of a host: BMC, operations, agent, netboot, conditions, history",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completer("RepaveHost", 1),
		RunE: func(command *cobra.Command, args []string) error {
			c, err := p.connect()
			if err != nil {
				return err
			}
			host := &infrav1.RepaveHost{}
			if err := c.Get(command.Context(), client.ObjectKey{Namespace: c.namespace, Name: args[0]}, host); err != nil {
				return err
			}
			_, err = fmt.Fprint(p.Out, view.Host(host, p.now()))
			return err
		},
	})
	return parent
}
