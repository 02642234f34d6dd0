// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

var long = `Run virtual Redfish BMCs over HTTPS, each with a server behind it that is only a power state.

Every BMC has one system, /redfish/v1/Systems/1, with power (On, ForceOff, GracefulShutdown, ForceRestart), a one-time
boot source (Pxe, and UefiHttp with HttpBootUri), sessions with a cap, and a self-signed certificate made at start, whose
SHA-256 fingerprint is printed. The account is the same for all; it is no secret unless you make it one.

With --admin, faults can be switched on by name (server-01, server-02, ...):
  curl http://127.0.0.1:8400/servers
  curl -X POST 'http://127.0.0.1:8400/servers/server-01/faults/hang?on=true'
Faults are: ` + strings.Join(virtual.FaultNames(), ", ") + `.
"refuse" answers 503, "deny" 401; what is ignored is accepted without effect; the last two happen once, the others last
until ?on=false. The admin address asks for no credentials.

It runs until interrupted.`

const example = `  # twenty BMCs on https://127.0.0.1:8443 to :8462
  virtual-bmc --servers 20

  # three on free ports, slow to change power, without HTTP boot, and misbehaving on demand
  virtual-bmc --servers 3 --base-port 0 --reset-delay 5s --http-boot=false --admin 127.0.0.1:8400`

type options struct {
	servers      int
	listen       string
	basePort     int
	username     string
	passwordFile string
	resetDelay   time.Duration
	maxSessions  int
	httpBoot     bool
	sessions     bool
	admin        string
}

func newCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:           "virtual-bmc",
		Short:         "Run virtual Redfish BMCs over HTTPS",
		Long:          long,
		Example:       example,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(command *cobra.Command, _ []string) error { return o.run(command.Context(), command.OutOrStdout()) },
	}
	flags := command.Flags()
	flags.IntVar(&o.servers, "servers", 1, "number of BMCs")
	flags.StringVar(&o.listen, "listen", "127.0.0.1", "address to listen on, without port")
	flags.IntVar(&o.basePort, "base-port", 8443, "port of the first BMC, the others follow; 0 takes free ones")
	flags.StringVar(&o.username, "username", "admin", "user name of the one account")
	flags.StringVar(&o.passwordFile, "password-file", "", `file with the password of the account; without it, it is "password"`)
	flags.DurationVar(&o.resetDelay, "reset-delay", 2*time.Second, "time between the acceptance of a reset and its effect")
	flags.IntVar(&o.maxSessions, "max-sessions", 8, "sessions a BMC keeps before it answers logins with 503")
	flags.BoolVar(&o.httpBoot, "http-boot", true, "offer UefiHttp with HttpBootUri")
	flags.BoolVar(&o.sessions, "sessions", true, "offer sessions; without, only Basic authentication works")
	flags.StringVar(&o.admin, "admin", "", "host:port of the plain HTTP address for faults; empty for none")
	return command
}

func (o options) check() error {
	switch {
	case o.servers < 1:
		return fmt.Errorf("reading flags: --servers %d: there must be at least one", o.servers)
	case o.basePort < 0 || o.basePort > 0 && o.basePort+o.servers-1 > 65535:
		return fmt.Errorf("reading flags: --base-port %d leaves no room for %d servers", o.basePort, o.servers)
	}
	return nil
}

func (o options) run(ctx context.Context, out io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	password, err := o.password()
	if err != nil {
		return err
	}
	fleet := map[string]*virtual.Server{}
	defer func() {
		for _, server := range fleet {
			server.Close()
		}
	}()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tADDRESS\tFINGERPRINT (SHA-256)")
	for i := range o.servers {
		name := fmt.Sprintf("server-%02d", i+1)
		server, err := o.start(i, password)
		if err != nil {
			return fmt.Errorf("starting %s: %w", name, err)
		}
		fleet[name] = server
		fmt.Fprintf(table, "%s\t%s\t%s\n", name, server.URL(), server.Fingerprint())
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the addresses: %w", err)
	}
	return o.serveAdmin(ctx, out, virtual.Admin(fleet))
}

func (o options) password() (string, error) {
	if o.passwordFile == "" {
		return "password", nil
	}
	content, err := os.ReadFile(o.passwordFile)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	return strings.TrimRight(string(content), "\r\n"), nil
}

func (o options) start(i int, password string) (*virtual.Server, error) {
	port := 0
	if o.basePort > 0 {
		port = o.basePort + i
	}
	return virtual.New(virtual.Options{
		Username:    o.username,
		Password:    password,
		Serial:      fmt.Sprintf("VIRTUAL%04d", i+1),
		UUID:        fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1),
		ResetDelay:  o.resetDelay,
		MaxSessions: o.maxSessions,
		NoHTTPBoot:  !o.httpBoot,
		BasicOnly:   !o.sessions,
		Machine:     &virtual.Memory{},
		Listen:      net.JoinHostPort(o.listen, strconv.Itoa(port)),
	})
}

// serveAdmin serves the faults until ctx ends; without an admin address it only waits.
func (o options) serveAdmin(ctx context.Context, out io.Writer, handler http.Handler) error {
	if o.admin == "" {
		<-ctx.Done()
		return nil
	}
	listener, err := net.Listen("tcp", o.admin)
	if err != nil {
		return fmt.Errorf("serving the faults: %w", err)
	}
	if _, err := fmt.Fprintf(out, "faults: http://%s/servers\n", listener.Addr()); err != nil {
		return errors.Join(fmt.Errorf("printing the admin address: %w", err), listener.Close())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the faults: %w", err)
	}
	return nil
}
