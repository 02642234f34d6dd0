// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

// live is one life of the box, from power-on until the power goes: firmware, perhaps the installer, then the disk, again and
// again for as long as the operating system only reboots.
func (b *Box) live(ctx context.Context, boot virtual.BootRequest) {
	for pause(ctx, b.options.BootTime) {
		if b.currentFaults().Dead {
			<-ctx.Done()
			return
		}
		if boot.Target != "" {
			b.note("NetworkBoot", boot.Target)
			if err := b.bootNetwork(ctx, boot.URL); err != nil && ctx.Err() == nil {
				b.log.Error("booting from the network", "error", err)
			}
			boot = b.nextBoot()
			continue
		}
		if err := b.bootDisk(ctx); err != nil {
			if ctx.Err() == nil {
				b.log.Error("booting from disk", "error", err)
			}
			<-ctx.Done() // nothing bootable: it sits there until the power goes
			return
		}
		boot = b.nextBoot()
	}
}

// nextBoot asks where a reset without a power cycle goes; an override for once is used up by the boot before.
func (b *Box) nextBoot() virtual.BootRequest {
	b.mu.Lock()
	bmc := b.bmc
	b.mu.Unlock()
	if bmc == nil {
		return virtual.BootRequest{}
	}
	return bmc.TakeBoot()
}

// bootNetwork fetches the boot answer and runs the installer where the answer says so.
func (b *Box) bootNetwork(ctx context.Context, url string) error {
	if url == "" {
		return errors.New("the firmware got no URL to boot")
	}
	script, err := b.get(ctx, url)
	if err != nil {
		return fmt.Errorf("fetching the boot answer: %w", err)
	}
	plan, install := planURL(script)
	if !install {
		return nil // on to the disk
	}
	return b.install(ctx, plan)
}

// planURL finds the installer's parameter in an iPXE script.
func planURL(script string) (string, bool) {
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		for _, word := range strings.Fields(lines.Text()) {
			if value, ok := strings.CutPrefix(word, orderv1.PlanParameter+"="); ok {
				return value, true
			}
		}
	}
	return "", false
}

// get fetches a small text. The URL holds a one-time secret, so errors leave it out.
func (b *Box) get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", errors.New("the URL is not one")
	}
	response, err := b.options.HTTP.Do(request)
	if err != nil {
		return "", withoutURL(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", withoutURL(err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server answered %d", response.StatusCode)
	}
	return string(body), nil
}
