// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/repave-io/cluster-api-provider-repave/version"
)

// called runs a command line and gives what it printed.
func called(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := newCommand(&out, &out)
	command.SetArgs(args)
	err := command.ExecuteContext(context.Background())
	return out.String(), err
}

func TestVersion(t *testing.T) {
	if out, err := called(t, "version"); err != nil || out != version.String()+"\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestHelpSaysWhichDriversThereAre(t *testing.T) {
	out, err := called(t, "run", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"none", "bootc", "nspawn", "not in this release", "--root", "--log-format"} {
		if !strings.Contains(out, want) {
			t.Errorf("help does not say %q:\n%s", want, out)
		}
	}
}

func TestBadFlagsAreExplained(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--driver", "bootc"}, `unknown driver "bootc"`},
		{[]string{"run", "--log-level", "loud"}, `unknown log level "loud"`},
		{[]string{"run", "--log-format", "xml"}, `unknown log format "xml"`},
		{[]string{"run", "--root", t.TempDir() + "/none"}, "opening host root"},
		{[]string{"run", "--root", t.TempDir()}, "reading configuration"},
		{[]string{"run", "extra"}, "unknown command"},
	} {
		if _, err := called(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.args, err, test.want)
		}
	}
	if status := run([]string{"run", "--root", t.TempDir()}); status != 1 {
		t.Errorf("exit status %d", status)
	}
}

func TestFlagsBecomeOptions(t *testing.T) {
	var log bytes.Buffer
	o, err := flags{root: "/r", driver: "none", bootIDPath: "b", logLevel: "WARN", logFormat: "json"}.options(&log)
	if err != nil {
		t.Fatal(err)
	}
	if o.Root != "/r" || o.BootIDPath != "b" || o.Version != version.String() || o.Log.Enabled(t.Context(), slog.LevelInfo) {
		t.Errorf("got %+v", o)
	}
	o.Log.Warn("hello")
	if !strings.HasPrefix(log.String(), "{") || !strings.Contains(log.String(), "hello") {
		t.Errorf("logged %q", log.String())
	}
}
