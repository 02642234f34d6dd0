// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/repave-io/cluster-api-provider-repave/version"
)

// Exit statuses.
const (
	exitDone     = 0
	exitFailed   = 1
	exitTimedOut = 2
)

// errTimedOut ends a wait that passed its --timeout. What was asked for stays asked for.
var errTimedOut = errors.New("timed out waiting; what was asked for stays asked for")

const rootHelp = `Show hosts and pools with the reason why they are as they are, and ask for reboots and repaves.

As a kubectl plugin: put kubectl-repave on the PATH and call it as "kubectl repave". For completion of host and pool names by
"kubectl repave ...", put an executable file kubectl_complete-repave beside it that holds:

  #!/bin/sh
  exec kubectl-repave __complete "$@"

Exit statuses:
  0  done; with --wait: proven
  1  an error; with --wait: given up, halted, or something is missing that a person must add
  2  --wait passed its --timeout; what was asked for stays asked for`

// plugin is one call of kubectl repave.
type plugin struct {
	genericiooptions.IOStreams
	console
	flags *genericclioptions.ConfigFlags
}

func newPlugin(streams genericiooptions.IOStreams, c console) *plugin {
	return &plugin{IOStreams: streams, console: c, flags: genericclioptions.NewConfigFlags(true)}
}

// run carries out a command line and gives the exit status.
func (p *plugin) run(ctx context.Context, args []string) int {
	root := p.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case meta.IsNoMatchError(err):
		err = errors.New("no RepaveHost is served: Repave is not installed in this cluster; install it with clusterctl init --infrastructure repave --bootstrap repave")
	}
	fmt.Fprintln(p.ErrOut, "error:", err)
	if errors.Is(err, errTimedOut) {
		return exitTimedOut
	}
	return exitFailed
}

func (p *plugin) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-repave",
		Short:         "Show and operate bare-metal hosts that Repave manages",
		Long:          rootHelp,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl repave"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	p.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(p.hosts(), p.reboot(), p.repave(), p.host(), p.pool(), p.version())
	return root
}

func (p *plugin) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the plugin", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.Out, version.String())
			return err
		},
	}
}
