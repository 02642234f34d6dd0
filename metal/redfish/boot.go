// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"net/http"
)

// SetBootOnce sets the boot source of the next boot only, and reads back whether the BMC did it: Ignored when it said
// yes and kept the old one. Nothing is sent when it is set already. Empty Enabled means Once; empty Mode and URI are left
// as they are.
func (c *Client) SetBootOnce(ctx context.Context, want Boot) error {
	const op = "setting the boot source"
	if want.Enabled == "" {
		want.Enabled = BootOnce
	}
	read, err := c.readSystem(ctx)
	if err != nil {
		return err
	}
	patch := bootPatch(read.state.Boot, want)
	if patch == nil {
		return nil
	}
	if _, err := c.request(ctx, op, http.MethodPatch, c.system, map[string]any{"Boot": patch}); err != nil {
		return err
	}
	read, err = c.readSystem(ctx)
	if err != nil {
		return err
	}
	if bootPatch(read.state.Boot, want) != nil {
		return &Error{Class: Ignored, Op: op, Message: "the BMC accepted the boot source, but reading back shows another"}
	}
	return nil
}

// bootPatch is the smallest change from one override to another, nil when there is none. Target and Enabled always go
// together (Supermicro takes no half), Mode only when the BMC reports one and it differs (its presence fails the whole
// PATCH on HPE and Supermicro X10, and queues a job on iDRAC).
func bootPatch(have, want Boot) map[string]string {
	patch := map[string]string{}
	if have.Target != want.Target || have.Enabled != want.Enabled {
		patch["BootSourceOverrideTarget"] = want.Target
		patch["BootSourceOverrideEnabled"] = want.Enabled
	}
	if want.Mode != "" && have.Mode != "" && have.Mode != want.Mode {
		patch["BootSourceOverrideMode"] = want.Mode
	}
	if want.URI != "" && have.URI != want.URI {
		patch["HttpBootUri"] = want.URI
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// networkBoot chooses how a server boots the network once: by the URL when its firmware takes one, else by PXE.
func networkBoot(identity Identity, url string) Boot {
	if identity.HTTPBootURI && url != "" && offers(identity.BootTargets, BootHTTP) {
		return Boot{Target: BootHTTP, Enabled: BootOnce, Mode: BootUEFI, URI: url}
	}
	return Boot{Target: BootPXE, Enabled: BootOnce, Mode: BootUEFI}
}

// offers says whether a list of allowed values holds one. BMCs that give no list may still take it.
func offers(allowed []string, value string) bool {
	if len(allowed) == 0 {
		return true
	}
	for _, one := range allowed {
		if one == value {
			return true
		}
	}
	return false
}
