// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/repave-io/cluster-api-provider-repave/agent/facts"
)

type files fstest.MapFS

func (f files) ReadFile(name string) ([]byte, error) { return fstest.MapFS(f).ReadFile(name) }

func TestBootID(t *testing.T) {
	f := files{
		facts.BootIDPath: {Data: []byte("4f6e\n")},
		"run/boot":       {Data: []byte("7")},
		"run/empty":      {Data: []byte("\n")},
		"run/long":       {Data: []byte(strings.Repeat("x", 129))},
	}
	for path, want := range map[string]string{"": "4f6e", "run/boot": "7", "run/empty": "", "run/long": ""} {
		got, err := facts.BootID(f, path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", path, got, err)
		}
	}
	if _, err := facts.BootID(f, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAddressesAreThoseThatOthersReach(t *testing.T) {
	addresses, err := facts.Addresses()
	if err != nil {
		t.Fatal(err)
	}
	if len(addresses) > 32 {
		t.Errorf("%d addresses: more than the API takes", len(addresses))
	}
	for _, each := range addresses {
		parsed, err := netip.ParseAddr(each.Address)
		if err != nil || parsed.IsLoopback() || parsed.IsLinkLocalUnicast() || parsed.Zone() != "" {
			t.Errorf("%s: %v", each.Address, err)
		}
	}
}
