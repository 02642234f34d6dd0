// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// agent shows what the agent of a host reports.
func (p *page) agent(agent *infrav1.AgentStatus) {
	if agent == nil {
		return
	}
	var addresses []string
	for _, address := range agent.Addresses {
		addresses = append(addresses, address.Address)
	}
	fields := [][2]string{
		{"Version", agent.Version}, {"Driver", agent.Driver}, {"Activity", string(agent.Activity)}, {"Boot ID", agent.BootID},
		{"Addresses", strings.Join(addresses, ", ")},
		{"Booted", fullImage(agent.Booted)}, {"Staged", fullImage(agent.Staged)}, {"Rollback", fullImage(agent.Rollback)},
	}
	if agent.Install != nil {
		fields = append(fields, [2]string{"Installed", agent.Install.Digest + " by order " + agent.Install.Order})
	}
	if f := agent.Failure; f != nil {
		fields = append(fields, [2]string{"Failed image", strings.Join([]string{f.Digest, "at", f.Stage + ":", f.Reason, f.Message}, " ")})
	}
	p.section("Agent", fields...)
}

// fullImage names an image with all that is known of it.
func fullImage(image *infrav1.HostImage) string {
	if image == nil {
		return ""
	}
	return strings.TrimSpace(image.Version + " " + image.Digest)
}

// netboot shows what the netboot server reports.
func (p *page) netboot(netboot *infrav1.NetbootStatus) {
	if netboot == nil {
		return
	}
	image := netboot.Image
	fields := [][2]string{
		{"Image", strings.TrimSpace(image.Digest + " " + string(image.State))},
		{"Image trouble", strings.TrimSpace(image.Reason + " " + image.Message)},
		{"Booted order", netboot.BootedOrder}, {"Redeemed order", netboot.RedeemedOrder},
	}
	if f := netboot.Failure; f != nil {
		fields = append(fields, [2]string{"Install failure", "order " + f.Order + ": " + f.Reason + ": " + f.Message})
	}
	p.section("Netboot", fields...)
}
