// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

// FleetOptions describe a fleet of equal servers.
type FleetOptions struct {
	Size int
	Dir  string // holds the disks
	// Prefix of the servers' names; "" is r. Fleets whose servers join one cluster need different ones: Nodes are named as
	// their servers.
	Prefix string
	// Username and Password of every BMC.
	Username, Password string
	// BootTime, ShutdownTime, StageTime of every box; ResetDelay of every BMC.
	BootTime, ShutdownTime, StageTime, ResetDelay time.Duration
	Log                                           *slog.Logger
}

// Server is one server of a fleet: a BMC that answers by HTTPS and the box behind it.
type Server struct {
	Name, MAC, DiskSerial string
	Box                   *Box
	BMC                   *virtual.Server
}

// Fleet is a rack of simulated servers, all off at first.
type Fleet struct{ Servers []*Server }

// StartFleet starts the BMCs of a fleet: r01, r02, … (or with another prefix) each on a free port of 127.0.0.1.
func StartFleet(options FleetOptions) (*Fleet, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if options.Prefix == "" {
		options.Prefix = "r"
	}
	fleet := &Fleet{}
	for i := 1; i <= options.Size; i++ {
		server, err := startServer(options, i)
		if err != nil {
			return nil, errors.Join(err, fleet.Close())
		}
		fleet.Servers = append(fleet.Servers, server)
	}
	return fleet, nil
}

func startServer(options FleetOptions, i int) (*Server, error) {
	s := &Server{
		Name:       fmt.Sprintf("%s%02d", options.Prefix, i),
		MAC:        fmt.Sprintf("52:54:00:aa:%02x:%02x", i/256, i%256),
		DiskSerial: fmt.Sprintf("SIM%06d", i),
	}
	s.Box = NewBox(BoxOptions{
		Name: s.Name, MACs: []string{s.MAC}, Dir: filepath.Join(options.Dir, s.Name),
		Disks: []DiskOptions{
			{Serial: s.DiskSerial, Device: "/dev/disk/by-path/pci-0000:00:04.0", SizeGigabytes: 480},
			{Serial: s.DiskSerial + "-DATA", Device: "/dev/disk/by-path/pci-0000:00:05.0", SizeGigabytes: 4000},
		},
		BootTime: options.BootTime, ShutdownTime: options.ShutdownTime, StageTime: options.StageTime, Log: options.Log,
	})
	var err error
	s.BMC, err = virtual.New(virtual.Options{
		Username: options.Username, Password: options.Password,
		Manufacturer: "Repave", Model: "Simulated", Serial: fmt.Sprintf("SN%06d", i),
		UUID:       fmt.Sprintf("00000000-0000-4000-8000-%012x", i),
		ResetDelay: options.ResetDelay, Machine: s.Box,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the BMC of %s: %w", s.Name, err)
	}
	s.Box.Attach(s.BMC)
	return s, nil
}

// Server finds a server by its name.
func (f *Fleet) Server(name string) *Server {
	for _, s := range f.Servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Close cuts the power of all and stops the BMCs.
func (f *Fleet) Close() error {
	for _, s := range f.Servers {
		s.Box.Close()
		s.BMC.Close()
	}
	return nil
}
