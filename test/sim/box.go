// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

// BoxOptions describe one simulated server.
type BoxOptions struct {
	Name  string
	MACs  []string // lower case with colons
	Dir   string   // holds the disks; survives the process
	Disks []DiskOptions
	// BootTime from power-on, or from a reset of the operating system, until the firmware is done; 0 is at once.
	BootTime time.Duration
	// ShutdownTime that an operating system takes to go down when asked to; 0 is at once.
	ShutdownTime time.Duration
	// StageTime that bringing an image onto the host takes besides the pull itself.
	StageTime time.Duration
	// HTTP for firmware and installer; nil is a client with a timeout of one minute.
	HTTP *http.Client
	// Log of the box; nil discards.
	Log *slog.Logger
}

// DiskOptions describe one disk.
type DiskOptions struct {
	Serial        string
	WWN           string
	Device        string // /dev/disk/by-path/…
	SizeGigabytes int32  // 10^9 bytes
}

// Box is one simulated server: a virtual.Machine.
type Box struct {
	options BoxOptions
	log     *slog.Logger

	mu      sync.Mutex
	on      bool
	cut     context.CancelFunc // ends the present life of the box
	ended   chan struct{}      // closed when that life is over
	faults  Faults
	bmc     *virtual.Server
	running string // digest of the operating system that is up; "" while none is
	journal []Event
}

// Faults are what a box does wrong, on demand.
type Faults struct {
	// BadImages are digests that do not come up on this box: it falls back to the image before.
	BadImages map[string]bool
	// RefuseStage are digests that cannot be brought onto this box, with the error.
	RefuseStage map[string]error
	// Dead: the box takes power and does nothing.
	Dead bool
	// HoldInstall: the installer waits after the first bytes of the disk image until this is closed or the power goes.
	HoldInstall <-chan struct{}
	// CorruptDisk: the bytes that the installer reads are not those that were sent.
	CorruptDisk bool
}

// Event is something that happened to a box, for tests to count.
type Event struct {
	At     time.Time
	What   string // PowerOn, ForceOff, Shutdown, NetworkBoot, Writing, Installed, InstallFailed, Booted, BootFailed
	Detail string
}

// NewBox makes a box that is off.
func NewBox(options BoxOptions) *Box {
	if options.HTTP == nil {
		options.HTTP = &http.Client{Timeout: time.Minute}
	}
	if options.Log == nil {
		options.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return &Box{options: options, log: options.Log.With("box", options.Name)}
}

// Attach tells the box which BMC it hangs on: its firmware asks there what to boot when the operating system resets itself.
func (b *Box) Attach(bmc *virtual.Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bmc = bmc
}

// Power tells whether the box is on.
func (b *Box) Power() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.on {
		return virtual.PowerOn
	}
	return virtual.PowerOff
}

// PowerOn starts a life of the box. A box that is on stays as it is.
func (b *Box) PowerOn(boot virtual.BootRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.on {
		return
	}
	b.on = true
	b.record("PowerOn", boot.Target)
	before := b.ended
	ctx, cut := context.WithCancel(context.Background())
	ended := make(chan struct{})
	b.cut, b.ended = cut, ended
	go func() {
		defer close(ended)
		if before != nil {
			<-before // one life at a time: the disk has one writer
		}
		b.live(ctx, boot)
	}()
}

// ForceOff cuts the power.
func (b *Box) ForceOff() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.on {
		b.record("ForceOff", "")
		b.off()
	}
}

// Shutdown asks the operating system to go down; it takes its time.
func (b *Box) Shutdown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.on {
		return
	}
	b.record("Shutdown", "")
	ended := b.ended
	time.AfterFunc(b.options.ShutdownTime, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.on && b.ended == ended {
			b.off()
		}
	})
}

// off ends the present life; the caller holds the lock.
func (b *Box) off() {
	b.on = false
	b.cut()
}

// Close cuts the power and waits for the end of what ran.
func (b *Box) Close() {
	b.ForceOff()
	b.mu.Lock()
	ended := b.ended
	b.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// SetFaults replaces what the box does wrong.
func (b *Box) SetFaults(f Faults) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = f
}

func (b *Box) currentFaults() Faults {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults
}

// Running gives the digest of the operating system that is up, "" while none is.
func (b *Box) Running() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

func (b *Box) setRunning(digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = digest
}

// Journal gives what happened to the box, oldest first.
func (b *Box) Journal() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Event(nil), b.journal...)
}

// Count gives how often something happened.
func (b *Box) Count(what string) int {
	n := 0
	for _, e := range b.Journal() {
		if e.What == what {
			n++
		}
	}
	return n
}

// note records an event and logs it.
func (b *Box) note(what, detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.record(what, detail)
}

func (b *Box) record(what, detail string) {
	b.journal = append(b.journal, Event{At: time.Now(), What: what, Detail: detail})
	b.log.Info(what, "detail", detail)
}

// String names the box.
func (b *Box) String() string { return fmt.Sprintf("box %s", b.options.Name) }

// pause waits for a while, or until the life of the box ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Faults gives what the box does wrong now.
func (b *Box) Faults() Faults { return b.currentFaults() }
