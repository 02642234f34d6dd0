// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import "sync"

// Power states as Redfish spells them (DSP2046, ComputerSystem.PowerState).
const (
	PowerOn     = "On"
	PowerOff    = "Off"
	PoweringOn  = "PoweringOn"
	PoweringOff = "PoweringOff"
)

const (
	bootTargetNone   = "None"
	bootTargetPXE    = "Pxe"
	bootTargetHTTP   = "UefiHttp"
	overrideDisabled = "Disabled"
	overrideOnce     = "Once"
)

// BootRequest says where a Machine shall boot from.
type BootRequest struct {
	Target string // "" is the disk, else "Pxe" or "UefiHttp" (or another target the service allows)
	URL    string // with UefiHttp: what the firmware loads
}

// Machine stands behind the BMC. Its methods are called without any lock of the Server held and must return quickly;
// what takes time (booting, shutting down) goes on behind Power.
type Machine interface {
	// Power is one of the power states above.
	Power() string
	PowerOn(boot BootRequest)
	ForceOff()
	Shutdown()
}

// Memory is a Machine that is only a power state: it is on as soon as it is told to, and shuts down at once unless
// Deaf. The zero value is off.
type Memory struct {
	Deaf bool // ignores Shutdown, as an operating system without ACPI support does; set before use

	mu    sync.Mutex
	on    bool
	boots []BootRequest
}

// Power is PowerOn or PowerOff.
func (m *Memory) Power() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on {
		return PowerOn
	}
	return PowerOff
}

// PowerOn boots; Boots tells from where.
func (m *Memory) PowerOn(boot BootRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on = true
	m.boots = append(m.boots, boot)
}

// ForceOff takes the power away.
func (m *Memory) ForceOff() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on = false
}

// Shutdown ends in power off, unless Deaf.
func (m *Memory) Shutdown() {
	if !m.Deaf {
		m.ForceOff()
	}
}

// Boots returns every boot so far, oldest first.
func (m *Memory) Boots() []BootRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]BootRequest(nil), m.boots...)
}
