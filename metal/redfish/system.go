// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"encoding/json"
	"path"

	"github.com/stmcginnis/gofish/schemas"
)

// PowerState of a server, as its BMC says. BMCs may leave it out, which is Unknown.
type PowerState string

const (
	On          PowerState = "On"
	Off         PowerState = "Off"
	PoweringOn  PowerState = "PoweringOn"
	PoweringOff PowerState = "PoweringOff"
	Unknown     PowerState = "Unknown"
)

// ResetType of ComputerSystem.Reset.
type ResetType = schemas.ResetType

// Boot sources and modes, as Redfish spells them.
const (
	BootPXE  = string(schemas.PxeBootSource)
	BootHTTP = string(schemas.UefiHTTPBootSource)
	BootOnce = string(schemas.OnceBootSourceOverrideEnabled)
	BootUEFI = string(schemas.UEFIBootSourceOverrideMode)
)

// Identity is what does not change while a server runs.
type Identity struct {
	Manufacturer, Model, SerialNumber, UUID string
	FirmwareVersion                         string // of the BMC
	SystemID                                string
	ResetTypes                              []string // empty when the BMC does not say
	BootTargets                             []string // empty when the BMC does not say
	HTTPBootURI                             bool     // Boot.HttpBootUri is there, so a URL can be given with UefiHttp
}

// Boot is the boot source override.
type Boot struct {
	Target  string // "None", "Pxe", "UefiHttp", …
	Enabled string // "Disabled", "Once", "Continuous"
	Mode    string // "UEFI", "Legacy"; empty when the BMC does not report it
	URI     string // HttpBootUri
}

// State is what changes.
type State struct {
	Power PowerState
	Boot  Boot
}

// system is one reading of a ComputerSystem.
type system struct {
	identity    Identity
	state       State
	resetTarget string
	resetInfo   string
	manager     string
}

// parseSystem reads the System at the given path. What is missing or has another shape than the schema says is left empty.
func parseSystem(at string, body []byte) (system, error) {
	const op = "reading the system"
	o, err := parseObject(op, body)
	if err != nil {
		return system{}, err
	}
	boot := o.inner("Boot")
	kept := o.texts("Manufacturer", "Model", "SerialNumber", "UUID", "PowerState")
	kept["Boot"], _ = json.Marshal(boot.texts("BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode", "HttpBootUri"))
	trimmed, _ := json.Marshal(kept)
	var decoded schemas.ComputerSystem
	if err := json.Unmarshal(trimmed, &decoded); err != nil {
		return system{}, &Error{Class: Permanent, Op: op, Message: "the answer is not a ComputerSystem"}
	}
	_, httpBoot := boot["HttpBootUri"]
	reset := o.inner("Actions").inner("#ComputerSystem.Reset")
	read := system{
		identity: Identity{
			Manufacturer: decoded.Manufacturer,
			Model:        decoded.Model,
			SerialNumber: decoded.SerialNumber,
			UUID:         decoded.UUID,
			SystemID:     clean(path.Base(at)),
			ResetTypes:   reset.strings("ResetType@Redfish.AllowableValues"),
			BootTargets:  boot.strings("BootSourceOverrideTarget@Redfish.AllowableValues"),
			HTTPBootURI:  httpBoot,
		},
		state: State{
			Power: powerState(decoded.PowerState),
			Boot: Boot{
				Target:  string(decoded.Boot.BootSourceOverrideTarget),
				Enabled: string(decoded.Boot.BootSourceOverrideEnabled),
				Mode:    string(decoded.Boot.BootSourceOverrideMode),
			},
		},
		resetTarget: reset.path("target"),
		resetInfo:   reset.path("@Redfish.ActionInfo"),
	}
	if uri := decoded.Boot.HTTPBootURI; uri != nil {
		read.state.Boot.URI = *uri
	}
	if managers := o.inner("Links").links("ManagedBy"); len(managers) > 0 {
		read.manager = managers[0]
	}
	return read, nil
}

// path is a plain string that names a path, as action targets do.
func (o object) path(key string) string {
	var text string
	if json.Unmarshal(o[key], &text) != nil {
		return ""
	}
	return pathOf(text)
}

func powerState(said schemas.PowerState) PowerState {
	switch state := PowerState(said); state {
	case On, Off, PoweringOn, PoweringOff:
		return state
	default:
		return Unknown
	}
}
