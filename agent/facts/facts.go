// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// BootIDPath is where the kernel shows an ID that is another one after each boot.
const BootIDPath = "proc/sys/kernel/random/boot_id"

// mostAddresses is what the API takes.
const mostAddresses = 32

// Files is the part of a host that is read.
type Files interface {
	ReadFile(name string) ([]byte, error)
}

// BootID reads the boot ID of the running kernel from path, BootIDPath where path is "".
func BootID(files Files, path string) (string, error) {
	if path == "" {
		path = BootIDPath
	}
	raw, err := files.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading boot ID: %w", err)
	}
	id := strings.TrimSpace(string(raw))
	if id == "" || len(id) > 128 {
		return "", errors.New("reading boot ID: the file holds none")
	}
	return id, nil
}

// passing are the prefixes of interfaces that come and go with pods and containers. Their addresses are not the host's.
var passing = []string{"veth", "cni", "docker", "podman", "virbr", "cali", "cilium", "lxc", "flannel", "vxlan", "kube-", "nodelocaldns", "tunl"}

// Addresses gives the addresses of the machine: its interfaces in the kernel's order, IPv4 before IPv6 on each, without
// loopback, link-local and whatever belongs to pods.
func Addresses() ([]clusterv1.MachineAddress, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	var found []clusterv1.MachineAddress
	for _, each := range interfaces {
		if each.Flags&net.FlagUp == 0 || belongsToPods(each.Name) {
			continue
		}
		addresses, err := each.Addrs()
		if err != nil {
			continue // the interface went away meanwhile
		}
		found = append(found, internal(addresses)...)
	}
	return found[:min(len(found), mostAddresses)], nil
}

func belongsToPods(name string) bool {
	return slices.ContainsFunc(passing, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// internal keeps the addresses by which others reach the host, in a stable order.
func internal(addresses []net.Addr) []clusterv1.MachineAddress {
	var kept []netip.Addr
	for _, each := range addresses {
		prefix, err := netip.ParsePrefix(each.String())
		if err == nil && prefix.Addr().IsGlobalUnicast() {
			kept = append(kept, prefix.Addr().Unmap())
		}
	}
	slices.SortFunc(kept, netip.Addr.Compare) // IPv4 sorts first
	var found []clusterv1.MachineAddress
	for _, address := range kept {
		found = append(found, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address.String()})
	}
	return found
}
