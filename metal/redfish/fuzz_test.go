// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"strings"
	"testing"
	"unicode"
)

var seeds = []string{
	``, `null`, `[]`, `{}`, `{"error":{"code":"Base.1.8.GeneralError","@Message.ExtendedInfo":{"MessageId":"iLO.2.14.InvalidOperationForSystemState"}}}`,
	`{"error":{"code":"x","@Message.ExtendedInfo":[{"MessageId":"Base.1.18.ResourceInUse"},7]}}`,
	`{"Links":{"Sessions":{"@odata.id":"/redfish/v1/Sessions"}},"Systems":{"@odata.id":"//evil/x"},"Members":[{"@odata.id":"http://h/a"},3]}`,
	`{"PowerState":7,"SerialNumber":12,"Boot":{"HttpBootUri":null,"BootSourceOverrideTarget":"Pxe","AutomaticRetryAttempts":"no"},` +
		`"Actions":{"#ComputerSystem.Reset":{"target":"/r","ResetType@Redfish.AllowableValues":["On"]}},"Links":{"ManagedBy":[{}]}}`,
	`{"Parameters":[{"Name":"ResetType","AllowableValues":["On\u0000\ud800"]}],"FirmwareVersion":"2.1"}`,
}

// FuzzSystem: whatever a BMC sends, values come out that are fit to be shown and links that stay with the BMC.
func FuzzSystem(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read, err := parseSystem("/redfish/v1/Systems/1", body)
		if err != nil {
			return
		}
		checkPaths(t, read.resetTarget, read.resetInfo, read.manager)
		texts := append([]string{
			read.identity.Manufacturer, read.identity.Model, read.identity.SerialNumber, read.identity.UUID,
			read.state.Boot.Target, read.state.Boot.Enabled, read.state.Boot.Mode, read.state.Boot.URI,
		}, append(read.identity.ResetTypes, read.identity.BootTargets...)...)
		for _, text := range texts {
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len([]rune(text)) > 256 {
				t.Errorf("unfit to be shown: %q", text)
			}
		}
		switch read.state.Power {
		case On, Off, PoweringOn, PoweringOff, Unknown:
		default:
			t.Errorf("power %q", read.state.Power)
		}
	})
}

// FuzzDocuments does the same for all other documents.
func FuzzDocuments(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if root, err := parseRoot(body); err == nil {
			checkPaths(t, root.sessions, root.systems)
		}
		if members, err := parseMembers("", body); err == nil {
			checkPaths(t, members...)
		}
		checkPaths(t, parseSelf(body))
		if id := parseMessageID(body); len(id) > 120 || strings.ContainsAny(id, " \n\"") {
			t.Errorf("message ID %q", id)
		}
		parseResetTypes(body)
		parseFirmwareVersion(body)
	})
}

func checkPaths(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if path != "" && !strings.HasPrefix(path, "/") {
			t.Errorf("link %q would leave the BMC", path)
		}
	}
}

func TestParseMessageID(t *testing.T) {
	for body, want := range map[string]string{
		seeds[4]: "iLO.InvalidOperationForSystemState",
		seeds[5]: "Base.ResourceInUse",
		`{"error":{"code":"Base.1.8.GeneralError"}}`: "Base.GeneralError",
		`{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.8.GeneralError"},{"MessageId":"IDRAC.2.8.SYS518"}]}}`: "IDRAC.SYS518",
		`{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.8.PropertyValueNotInList: <b>secret</b>"}]}}`:         "",
		`<html>503</html>`: "",
	} {
		if got := parseMessageID([]byte(body)); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestStatusErrorsByMessage(t *testing.T) {
	for _, tc := range []struct {
		status  int
		message string
		want    Class
	}{
		{400, "", Permanent},
		{400, "iLO.UnableToModifyDuringSystemPOST", Transient},
		{400, "Base.PropertyNotWritable", Unsupported},
		{401, "", Auth}, {403, "", Auth}, {404, "", Permanent}, {405, "", Unsupported}, {501, "", Unsupported},
		{409, "", Conflict}, {412, "", Conflict}, {429, "", Transient}, {500, "IDRAC.SYS518", Transient}, {503, "", Transient},
	} {
		if got := statusError("op", tc.status, tc.message).Class; got != tc.want {
			t.Errorf("%d %s: got %s, want %s", tc.status, tc.message, got, tc.want)
		}
	}
}
