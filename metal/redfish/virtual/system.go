// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// override is the boot source override of the System.
type override struct{ target, enabled, mode, uri string }

func (s *Server) bootTargets() []string {
	targets := []string{bootTargetNone, bootTargetPXE, "Hdd", "Cd", "BiosSetup"}
	if !s.options.NoHTTPBoot {
		targets = append(targets, bootTargetHTTP)
	}
	return targets
}

// system is the document of the one System, with the power its Machine has now.
func (s *Server) system() resource {
	power := s.options.Machine.Power()
	s.mu.Lock()
	defer s.mu.Unlock()
	boot := resource{
		"BootSourceOverrideEnabled":                         s.boot.enabled,
		"BootSourceOverrideEnabled@Redfish.AllowableValues": []string{overrideDisabled, overrideOnce, "Continuous"},
		"BootSourceOverrideTarget":                          s.boot.target,
		"BootSourceOverrideTarget@Redfish.AllowableValues":  s.bootTargets(),
		"BootSourceOverrideMode":                            s.boot.mode,
		"BootSourceOverrideMode@Redfish.AllowableValues":    []string{"UEFI", "Legacy"},
	}
	if !s.options.NoHTTPBoot {
		boot["HttpBootUri"] = any(s.boot.uri)
		if s.boot.uri == "" {
			boot["HttpBootUri"] = nil
		}
	}
	return resource{
		"@odata.id":    s.systemPath(),
		"@odata.type":  "#ComputerSystem.v1_23_0.ComputerSystem",
		"Id":           s.options.SystemID,
		"Name":         "System",
		"SystemType":   "Physical",
		"Manufacturer": s.options.Manufacturer,
		"Model":        s.options.Model,
		"SerialNumber": s.options.Serial,
		"UUID":         s.options.UUID,
		"BiosVersion":  "1.0.0",
		"PowerState":   power,
		"Boot":         boot,
		"Status":       resource{"State": "Enabled", "Health": "OK"},
		"Links":        resource{"ManagedBy": links(managersPath + "/1"), "Chassis": links(chassisPath + "/1")},
		"Actions": resource{"#ComputerSystem.Reset": resource{
			"target":                            s.systemPath() + "/Actions/ComputerSystem.Reset",
			"ResetType@Redfish.AllowableValues": resetTypes,
		}},
	}
}

func etag(document resource) string {
	encoded, _ := json.Marshal(document) // maps of strings and bools always encode
	sum := sha256.Sum256(encoded)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

func (s *Server) getSystem(w http.ResponseWriter, _ *http.Request) {
	document := s.system()
	w.Header().Set("ETag", etag(document))
	answer(w, http.StatusOK, document)
}

func (s *Server) patchSystem(w http.ResponseWriter, r *http.Request) {
	if match := r.Header.Get("If-Match"); match != "" && match != "*" &&
		strings.TrimPrefix(match, "W/") != etag(s.system()) {
		fail(w, http.StatusPreconditionFailed, preconditionLost)
		return
	}
	var patch struct {
		Boot map[string]any
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&patch); err != nil {
		if strings.Contains(err.Error(), "unknown field") {
			fail(w, http.StatusBadRequest, propertyUnknown)
			return
		}
		fail(w, http.StatusBadRequest, malformedJSON)
		return
	}
	if wrong := s.patchBoot(patch.Boot); wrong != nil {
		fail(w, http.StatusBadRequest, *wrong)
		return
	}
	s.getSystem(w, r)
}

// patchBoot applies all of the patch or nothing of it.
func (s *Server) patchBoot(patch map[string]any) *message {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.boot
	for property, value := range patch {
		text, ok := value.(string)
		if !ok && (property != "HttpBootUri" || value != nil) {
			return &propertyType
		}
		var allowed []string
		switch property {
		case "BootSourceOverrideTarget":
			next.target, allowed = text, s.bootTargets()
		case "BootSourceOverrideEnabled":
			next.enabled, allowed = text, []string{overrideDisabled, overrideOnce, "Continuous"}
		case "BootSourceOverrideMode":
			next.mode, allowed = text, []string{"UEFI", "Legacy"}
		case "HttpBootUri":
			if s.options.NoHTTPBoot {
				return &propertyUnknown
			}
			next.uri = text
			continue
		default:
			return &propertyUnknown
		}
		if !slices.Contains(allowed, text) {
			return &propertyValue
		}
	}
	if next.enabled == overrideDisabled {
		next.target = bootTargetNone
	}
	if !s.faults.is(&s.faults.ignoreBoot) {
		s.boot = next
	}
	return nil
}

// TakeBoot says where the machine boots from next and uses up a one-time override, as firmware does at power on. A
// Machine that restarts by itself (its operating system rebooted) asks here too.
func (s *Server) TakeBoot() BootRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boot.enabled == overrideDisabled || s.boot.target == bootTargetNone {
		return BootRequest{}
	}
	request := BootRequest{Target: s.boot.target}
	if s.boot.target == bootTargetHTTP {
		request.URL = s.boot.uri
	}
	if s.boot.enabled == overrideOnce {
		s.boot.enabled, s.boot.target = overrideDisabled, bootTargetNone
	}
	return request
}
