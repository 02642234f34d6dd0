// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/repave-io/cluster-api-provider-repave/agent"
)

// bootDisk is one boot of the operating system that the disk holds: the bootloader picks the image, then agent and kubelet run
// until the power goes (the context ends) or the operating system resets itself (nil is returned, and the firmware starts over).
func (b *Box) bootDisk(ctx context.Context) error {
	target, err := b.bootable()
	if err != nil {
		return err
	}
	image, err := b.bootloader(ctx, target)
	if err != nil {
		return err
	}
	bootID := uuid.NewString()
	b.setRunning(image.Digest)
	defer b.setRunning("")
	b.note("Booted", image.Digest)
	life, end := context.WithCancel(ctx)
	defer end()
	reboot := make(chan struct{}, 1)
	var running sync.WaitGroup
	running.Go(func() { b.runAgent(life, target, bootID, reboot) })
	running.Go(func() {
		k := &kubelet{root: target.root(), bootID: bootID, image: image}
		if err := k.run(life); err != nil && life.Err() == nil {
			b.log.Error("running the kubelet", "error", err)
		}
	})
	select {
	case <-ctx.Done():
	case <-reboot:
	}
	end()
	running.Wait()
	return ctx.Err()
}

// bootloader picks the image of this boot. A new image gets one try: where it does not come up, the host resets and the image
// before runs on.
func (b *Box) bootloader(ctx context.Context, target disk) (*Image, error) {
	state, err := target.readOS()
	if err != nil {
		return nil, err
	}
	if state.Next == "" || state.Staged == nil || state.Staged.Digest != state.Next {
		return state.Booted, nil
	}
	tried := state.Staged
	state.Next, state.Staged = "", nil
	if b.currentFaults().BadImages[tried.Digest] {
		// The try is written down before it is made: a host that hangs in it comes back with the image before.
		if err := target.writeOS(state); err != nil {
			return nil, err
		}
		b.note("BootFailed", tried.Digest)
		if !pause(ctx, b.options.BootTime) {
			return nil, ctx.Err()
		}
		return state.Booted, nil
	}
	state.Rollback, state.Booted = state.Booted, tried
	if err := target.writeOS(state); err != nil {
		return nil, fmt.Errorf("switching to %s: %w", tried.Digest, err)
	}
	return tried, nil
}

// bootIDFile is where a kernel shows its boot ID, below the root of the host.
const bootIDFile = "proc/sys/kernel/random/boot_id"

// runAgent runs the real agent on the box, with the simulated driver, until the life of the operating system ends.
func (b *Box) runAgent(ctx context.Context, target disk, bootID string, reboot chan<- struct{}) {
	path := filepath.Join(target.root(), bootIDFile)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = replaceFile(path, []byte(bootID+"\n"), 0o644)
	}
	if err == nil {
		err = agent.Run(ctx, agent.Options{
			Root: target.root(), Driver: &driver{box: b, disk: target, reboot: reboot},
			Version: "simulated", BootIDPath: bootIDFile, Addresses: b.addresses, Log: b.log,
		})
	}
	if err != nil && ctx.Err() == nil {
		b.log.Error("running the agent", "error", err)
	}
}

// addresses are made up: the box has no network card of its own.
func (b *Box) addresses() ([]clusterv1.MachineAddress, error) {
	return []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: b.options.Name}}, nil
}
