// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/stmcginnis/gofish/schemas"
)

// Everything a BMC sends is parsed here, from bytes to our values. gofish's types refuse a whole document when one
// property has another type than the schema says, which real BMCs do; so only properties we use, and only where they
// have the right shape, are handed to them.

type object map[string]json.RawMessage

// parseObject accepts any JSON object.
func parseObject(op string, body []byte) (object, error) {
	var o object
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, &Error{Class: Permanent, Op: op, Message: "the answer is not a JSON object"}
	}
	return o, nil
}

// inner is a nested object, empty when it is absent or something else.
func (o object) inner(key string) object {
	var nested object
	_ = json.Unmarshal(o[key], &nested)
	return nested
}

// objects is a list of objects. Members that are something else are left out.
func (o object) objects(key string) []object {
	var members []json.RawMessage
	_ = json.Unmarshal(o[key], &members)
	var listed []object
	for _, member := range members {
		var one object
		if json.Unmarshal(member, &one) == nil {
			listed = append(listed, one)
		}
	}
	return listed
}

// strings is a list of strings, empty when it is absent or something else.
func (o object) strings(key string) []string {
	var listed []string
	if json.Unmarshal(o[key], &listed) != nil {
		return nil
	}
	for i := range listed {
		listed[i] = clean(listed[i])
	}
	return listed
}

// link is the path of a reference, empty when it is absent or something else.
func (o object) link(key string) string {
	var linked schemas.Link
	if json.Unmarshal(o[key], &linked) != nil {
		return ""
	}
	return pathOf(linked.String())
}

// links is a list of references. Those that are none are left out.
func (o object) links(key string) []string {
	var linked schemas.Links
	if json.Unmarshal(o[key], &linked) != nil {
		return nil
	}
	var paths []string
	for _, one := range linked.ToStrings() {
		if path := pathOf(one); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// texts keeps of the named properties those that are strings.
func (o object) texts(keys ...string) object {
	kept := object{}
	for _, key := range keys {
		var text string
		if json.Unmarshal(o[key], &text) == nil && text != "" {
			kept[key], _ = json.Marshal(clean(text))
		}
	}
	return kept
}

// clean makes a text of a BMC fit to be shown and stored: printable, and not endless.
func clean(text string) string {
	const most = 256
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return strings.TrimSpace(text)
}

// serviceRoot is what we need of the root.
type serviceRoot struct{ sessions, systems, managers string }

func parseRoot(body []byte) (serviceRoot, error) {
	o, err := parseObject("reading the Redfish root", body)
	if err != nil {
		return serviceRoot{}, err
	}
	root := serviceRoot{sessions: o.inner("Links").link("Sessions"), systems: o.link("Systems"), managers: o.link("Managers")}
	if root.systems == "" {
		return serviceRoot{}, &Error{Class: Permanent, Op: "reading the Redfish root", Message: "it is not a Redfish root: it has no Systems"}
	}
	return root, nil
}

func parseMembers(op string, body []byte) ([]string, error) {
	o, err := parseObject(op, body)
	if err != nil {
		return nil, err
	}
	return o.links("Members"), nil
}

// parseSelf is a document's own path.
func parseSelf(body []byte) string {
	var self schemas.Link
	if json.Unmarshal(body, &self) != nil {
		return ""
	}
	return pathOf(self.String())
}

func parseFirmwareVersion(body []byte) string {
	var manager schemas.Manager
	var o object
	if json.Unmarshal(body, &o) != nil {
		return ""
	}
	trimmed, _ := json.Marshal(o.texts("FirmwareVersion"))
	if json.Unmarshal(trimmed, &manager) != nil {
		return ""
	}
	return manager.FirmwareVersion
}

// parseResetTypes reads them from an ActionInfo, where newer BMCs keep them.
func parseResetTypes(body []byte) []string {
	var o object
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	for _, parameter := range o.objects("Parameters") {
		var name string
		if json.Unmarshal(parameter["Name"], &name) == nil && name == "ResetType" {
			return parameter.strings("AllowableValues")
		}
	}
	return nil
}

// parseMessageID finds the most telling MessageId of an error body, without its version, or "". ExtendedInfo may be one
// object instead of a list, and its first entry may be the general one.
func parseMessageID(body []byte) string {
	var o object
	if json.Unmarshal(body, &o) != nil {
		return ""
	}
	failure := o.inner("error")
	infos := append(failure.objects("@Message.ExtendedInfo"), failure.inner("@Message.ExtendedInfo"))
	found := ""
	for _, info := range append(infos, object{"MessageId": failure["code"]}) {
		var id string
		if json.Unmarshal(info["MessageId"], &id) != nil {
			continue
		}
		id = registryID(id)
		if id != "" && (found == "" || strings.HasSuffix(found, ".GeneralError")) {
			found = id
		}
	}
	return found
}

// registryID drops the version of "Registry.1.18.Key", which firmware updates change, and refuses what has not the form
// of an ID.
func registryID(id string) string {
	if len(id) > 120 || strings.ContainsFunc(id, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-')
	}) {
		return ""
	}
	var kept []string
	for part := range strings.SplitSeq(id, ".") {
		if strings.Trim(part, "0123456789") != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ".")
}
