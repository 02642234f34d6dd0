// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// completer gives the names of a kind that are not on the command line yet, at most most of them.
func (p *plugin) completer(kind string, most int) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := p.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind + "List"))
		if err := c.List(command.Context(), list, client.InNamespace(c.namespace)); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, item := range list.Items {
			if !slices.Contains(args, item.Name) {
				names = append(names, item.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
