// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/repave-io/cluster-api-provider-repave/agent"
	"github.com/repave-io/cluster-api-provider-repave/agent/facts"
	"github.com/repave-io/cluster-api-provider-repave/agent/fixed"
	"github.com/repave-io/cluster-api-provider-repave/version"
)

// flags of the command run.
type flags struct {
	root       string
	driver     string
	bootIDPath string
	logLevel   string
	logFormat  string
}

func newCommand(out, errOut io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "repave-agent",
		Short:         "Keep this host at what its RepaveHost wishes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.AddCommand(newRun(errOut), newVersion(out))
	return root
}

func newRun(errOut io.Writer) *cobra.Command {
	var f flags
	command := &cobra.Command{
		Use:   "run",
		Short: "Run the agent until it is told to end (SIGTERM)",
		Long: `Run the agent of this host until it is told to end (SIGTERM).

The agent reads /etc/repave/agent.json, which the installer leaves, gets its certificate, follows its RepaveHost in the
management cluster, brings the host to what is wished there, and reports what is.

The driver says how the images of this host are changed:
  none    by netboot repaves only. An in-place wish ends as a failure in the host's status.
Drivers for bootc and for systemd-nspawn are not in this release.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options, err := f.options(errOut)
			if err != nil {
				return err
			}
			klog.SetSlogLogger(options.Log) // the API client's own complaints come in the same format
			return agent.Run(command.Context(), options)
		},
	}
	command.Flags().StringVar(&f.root, "root", "/", "root directory of the host")
	command.Flags().StringVar(&f.driver, "driver", fixed.Name, "how the images of this host are changed: "+fixed.Name)
	command.Flags().StringVar(&f.bootIDPath, "boot-id-file", facts.BootIDPath, "file below the root with an ID that is another one after each boot")
	command.Flags().StringVar(&f.logLevel, "log-level", "info", "least level that is logged: debug, info, warn or error")
	command.Flags().StringVar(&f.logFormat, "log-format", "text", "format of the log on standard error: text or json")
	return command
}

func newVersion(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(out, version.String())
			return err
		},
	}
}

// options turns flags into the options of an agent.
func (f flags) options(errOut io.Writer) (agent.Options, error) {
	if f.driver != fixed.Name {
		return agent.Options{}, fmt.Errorf("unknown driver %q: this release has only %q", f.driver, fixed.Name)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return agent.Options{}, fmt.Errorf("unknown log level %q: use debug, info, warn or error", f.logLevel)
	}
	var handler slog.Handler
	switch settings := (&slog.HandlerOptions{Level: level}); f.logFormat {
	case "text":
		handler = slog.NewTextHandler(errOut, settings)
	case "json":
		handler = slog.NewJSONHandler(errOut, settings)
	default:
		return agent.Options{}, fmt.Errorf("unknown log format %q: use text or json", f.logFormat)
	}
	// The driver "none" needs the configuration of the host: the agent makes it itself.
	return agent.Options{Root: f.root, BootIDPath: f.bootIDPath, Version: version.String(), Log: slog.New(handler)}, nil
}
