// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/view"
)

// hostsOptions are the flags of kubectl repave hosts.
type hostsOptions struct {
	output   string
	selector string
	all      bool
	watch    bool
}

func (p *plugin) hosts() *cobra.Command {
	var o hostsOptions
	command := &cobra.Command{
		Use:               "hosts [NAME...]",
		Short:             "Show hosts: what runs where, how far, and why not",
		Example:           "  kubectl repave hosts\n  kubectl repave hosts -A -o wide\n  kubectl repave hosts -l rack=r12 --watch",
		ValidArgsFunction: p.completer("RepaveHost", 0),
		RunE: func(command *cobra.Command, names []string) error {
			if o.all && len(names) > 0 {
				return fmt.Errorf("name hosts or use --all-namespaces, not both")
			}
			return p.showHosts(command.Context(), names, o)
		},
	}
	command.Flags().StringVarP(&o.output, "output", "o", "", "wide, json, yaml or name; a table where empty")
	command.Flags().StringVarP(&o.selector, "selector", "l", "", "only hosts with these labels")
	command.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "hosts of all namespaces")
	command.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on showing hosts that change, until interrupted")
	return command
}

// hostPrinter prints hosts in the way that was asked for.
type hostPrinter interface {
	all(*infrav1.RepaveHostList) error
	one(*infrav1.RepaveHost) error
}

func (p *plugin) showHosts(ctx context.Context, names []string, o hostsOptions) error {
	printer, err := p.hostPrinter(o)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return fmt.Errorf("reading --selector: %w", err)
	}
	c, err := p.connect()
	if err != nil {
		return err
	}
	options := &client.ListOptions{LabelSelector: selector, Namespace: c.namespace}
	if o.all {
		options.Namespace = ""
	}
	list := &infrav1.RepaveHostList{}
	if err := c.List(ctx, list, options); err != nil {
		return err
	}
	if list.Items, err = named(list.Items, names); err != nil {
		return err
	}
	switch {
	case len(list.Items) == 0 && !o.watch && (o.output == "" || o.output == "wide"):
		fmt.Fprintln(p.ErrOut, "No hosts found.")
	case len(names) == 1 && len(list.Items) == 1 && !o.watch && o.output != "" && o.output != "wide":
		return printer.one(&list.Items[0]) // as kubectl get NAME -o json
	default:
		if err := printer.all(list); err != nil {
			return err
		}
	}
	if !o.watch {
		return nil
	}
	shown := map[client.ObjectKey]string{}
	for i := range list.Items {
		shown[client.ObjectKeyFromObject(&list.Items[i])] = list.Items[i].ResourceVersion
	}
	return follow(ctx, c, &infrav1.RepaveHostList{}, &infrav1.RepaveHost{}, options, func(kind watch.EventType, object runtime.Object) (bool, error) {
		host, ok := object.(*infrav1.RepaveHost)
		if !ok || len(names) > 0 && !slices.Contains(names, host.Name) {
			return false, nil
		}
		key := client.ObjectKeyFromObject(host)
		if kind != watch.Deleted && shown[key] == host.ResourceVersion {
			return false, nil
		}
		shown[key] = host.ResourceVersion
		if kind == watch.Deleted {
			host = host.DeepCopy()
			host.Status = infrav1.RepaveHostStatus{Phase: "Deleted"}
		}
		return false, printer.one(host)
	})
}

// named are the hosts of these names in the order of the names; all where none is named.
func named(hosts []infrav1.RepaveHost, names []string) ([]infrav1.RepaveHost, error) {
	if len(names) == 0 {
		return hosts, nil
	}
	var kept []infrav1.RepaveHost
	for _, name := range names {
		i := slices.IndexFunc(hosts, func(h infrav1.RepaveHost) bool { return h.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no host %q found", name)
		}
		kept = append(kept, hosts[i])
	}
	return kept, nil
}

func (p *plugin) hostPrinter(o hostsOptions) (hostPrinter, error) {
	if o.output == "" || o.output == "wide" {
		t := &tablePrinter{plugin: p, columns: view.HostColumns{Namespace: o.all, Wide: o.output == "wide"}}
		if o.output == "" {
			t.table.Width = p.width
		}
		return t, nil
	}
	s, err := newScheme()
	if err != nil {
		return nil, err
	}
	flags := genericclioptions.NewPrintFlags("").WithTypeSetter(s)
	flags.OutputFormat = &o.output
	printer, err := flags.ToPrinter()
	if err != nil {
		return nil, err
	}
	return &objectPrinter{plugin: p, ResourcePrinter: printer, each: o.output == "name"}, nil
}
