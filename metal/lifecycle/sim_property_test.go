// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const (
	imageA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	imageB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// A host lives through claims, counters, faults and kills. Whatever happens: no attempt cuts or restores the power twice, no
// order writes a disk twice, no counter is lost or acknowledged twice, and when the faults end everything comes to rest.
func TestLivesOfHosts(t *testing.T) {
	var mu sync.Mutex
	taken := map[[2]infrav1.OperationStep]bool{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t.Fatalf)
		for range rapid.IntRange(20, 400).Draw(t, "looks") {
			disturb(t, w)
			w.look(rapid.SampledFrom([]int{atNoTime, atNoTime, atNoTime, beforeSaving, betweenSaves, afterActing}).Draw(t, "kill"))
			if rapid.IntRange(0, 4).Draw(t, "serve") > 0 {
				w.serve()
			}
			w.pass(rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second, 8 * time.Second, 70 * time.Second, 10 * time.Minute}).Draw(t, "pass"))
			books(w)
		}
		w.box.bmcDead, w.box.ignores, w.box.failing, w.deleting = false, false, false, false
		last := w.settle(6 * time.Hour)
		books(w)
		rested(w, last)
		mu.Lock()
		defer mu.Unlock()
		w.merge(taken)
	})
	table := map[[2]infrav1.OperationStep]bool{}
	for _, way := range transitions {
		table[[2]infrav1.OperationStep{way.from, way.to}] = true
	}
	for way := range taken {
		if !table[way] {
			t.Errorf("a host went from %q to %q, which the table does not know", way[0], way[1])
		}
	}
	if len(taken) < len(table)*2/3 {
		t.Errorf("only %d of %d ways of the table were taken: the simulated lives are too dull", len(taken), len(table))
	}
}

func disturb(t *rapid.T, w *world) {
	switch rapid.IntRange(0, 24).Draw(t, "event") {
	case 0:
		w.spec.Counters.RebootCounter++
	case 1:
		w.spec.Counters.RepaveCounter++
	case 2, 3:
		if w.spec.Claim == "" {
			w.claim("m"+rapid.SampledFrom([]string{"1", "2"}).Draw(t, "machine"), rapid.SampledFrom([]string{imageA, imageB, ""}).Draw(t, "image"))
		}
	case 4:
		if w.spec.Claim != "" && rapid.Bool().Draw(t, "ends") {
			w.spec.Desired = nil
		}
	case 5:
		if w.spec.Claim != "" && w.ending() && Released(w.object()) {
			if w.box.power != infrav1.PowerOff || w.box.becomes != "" {
				w.fatal("a host that is %s (becomes %q) was released", w.box.power, w.box.becomes)
			}
			w.spec.Claim = ""
		}
	case 6:
		w.box.bmcDead = !w.box.bmcDead
	case 7:
		w.box.ignores = !w.box.ignores
	case 8:
		w.box.failing = !w.box.failing
	case 9:
		w.spec.Online = !w.spec.Online
	case 10:
		w.deleting = w.spec.Claim != "" && !w.deleting
	case 11: // status is lost; what agents and netboot servers wrote comes back from them, but not at once
		if w.netboot.RedeemedOrder == "" || w.record().Operation == nil {
			w.status = infrav1.RepaveHostStatus{}
			w.netboot = Netboot{}
		}
	case 12:
		if w.status.Phase != "" && same(w.record(), fromStatus(w.status)) {
			w.annotation = ""
		}
	case 13:
		if w.spec.Desired != nil && w.spec.Desired.Netboot != nil {
			w.claim(w.spec.Claim, rapid.SampledFrom([]string{imageA, imageB}).Draw(t, "other image"))
		}
	case 14:
		w.spec.HasRootDevice = !w.spec.HasRootDevice
	case 15:
		w.box.hasAgent = true
		if w.box.power == infrav1.PowerOn && w.box.writing == "" && w.box.becomes == "" {
			w.start() // somebody rebooted it from inside
		}
	}
}

// same says whether status mirrors all that matters of the record; the annotation is then a copy.
func same(r, mirror Record) bool {
	mirror.Fingerprint, mirror.Release, mirror.Free = r.Fingerprint, r.Release, r.Free
	return r.Release == nil && !r.Free && r.Encode() == mirror.Encode()
}

func (w *world) object() *infrav1.RepaveHost {
	host := &infrav1.RepaveHost{Status: w.status}
	host.Annotations = map[string]string{infrav1.AnnotationRecord: w.annotation}
	if w.spec.Claim != "" {
		host.Spec.ClaimRef = &infrav1.HostClaim{Name: w.spec.Claim}
	}
	host.Spec.Desired = w.spec.Desired
	return host
}

func books(w *world) {
	for attempt, n := range w.cuts {
		if n > 1 && attempt != "none" {
			w.fatal("attempt %s cut the power %d times", attempt, n)
		}
	}
	for attempt, n := range w.ons {
		if n > 1 && attempt != "none" {
			w.fatal("attempt %s switched the power on %d times", attempt, n)
		}
	}
	for order, n := range w.installs {
		if n > 1 {
			w.fatal("order %s wrote the disk %d times", order, n)
		}
	}
	if w.raised != w.closed {
		w.fatal("%d operations by counter succeeded, counters rose %d times", w.closed, w.raised)
	}
}

// rested says whether all that was asked is done, or shows a reason, and nothing more happens.
func rested(w *world, last Step) {
	record := w.record()
	if op := record.Operation; op != nil && op.Step != infrav1.StepGaveUp && last.Reason == "" {
		w.fatal("an operation neither ends nor shows why: %+v", op)
	}
	waits := !w.spec.HasRootDevice || w.spec.netbootDigest() == "" || w.deleting || w.ending() || record.Operation != nil
	if !waits && record.Acknowledged != w.spec.Counters {
		w.fatal("asked for %+v, acknowledged %+v: %+v", w.spec.Counters, record.Acknowledged, last)
	}
	if _, none := last.Effect.(None); !none || last.Save {
		w.fatal("no rest: %+v", last)
	}
}
