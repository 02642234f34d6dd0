// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInternal(t *testing.T) {
	var given []net.Addr
	for _, each := range []string{"fe80::1/64", "2001:db8::2/64", "10.0.0.7/24", "127.0.0.1/8", "10.0.0.3/24"} {
		ip, network, err := net.ParseCIDR(each)
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, &net.IPNet{IP: ip, Mask: network.Mask})
	}
	var got []string
	for _, each := range internal(given) {
		got = append(got, each.Address)
	}
	if diff := cmp.Diff([]string{"10.0.0.3", "10.0.0.7", "2001:db8::2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPodInterfaces(t *testing.T) {
	for name, want := range map[string]bool{"eth0": false, "bond0": false, "br0": false, "veth12ab": true, "cni0": true, "cali1": true} {
		if belongsToPods(name) != want {
			t.Errorf("%s: got %v", name, !want)
		}
	}
}
