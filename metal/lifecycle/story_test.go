// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const minute = time.Minute

// Without faults everything succeeds at the first attempt, and every write of it may be the last thing a process does.
func TestKilledAtEveryLook(t *testing.T) {
	for kill := range 60 {
		for _, how := range []int{beforeSaving, betweenSaves, afterActing} {
			w := newWorld(t.Fatalf)
			w.settle(minute)
			w.claim("m", imageA)
			w.run(t, kill, how)
			w.spec.Counters = infrav1.Counters{RebootCounter: 5, RepaveCounter: 3}
			w.run(t, kill, how)
			books(w)
			if w.closed != 2 || len(w.installs) != 2 || len(w.ons) != 3 || len(w.cuts) != 2 {
				t.Fatalf("killed at look %d (%d): installs %v, on %v, off %v", kill, how, w.installs, w.ons, w.cuts)
			}
		}
	}
}

// The agent of an ended claim, which once reported, need not come back for a free host to be rebooted: nobody may be there any more.
func TestAFreeHostIsRebootedWithoutAnAgent(t *testing.T) {
	w := newWorld(t.Fatalf)
	w.settle(minute)
	w.claim("m", imageA)
	w.settle(time.Hour)
	w.spec.Desired = nil
	w.settle(10 * minute)
	w.spec.Claim = ""
	w.settle(10 * minute)
	w.box.hasAgent = false
	w.spec.Counters.RebootCounter = 1
	if s := w.settle(3 * time.Hour); s.Reason != infrav1.ReasonAvailable || w.record().Acknowledged.RebootCounter != 1 {
		t.Errorf("%s: %s; acknowledged %+v", s.Reason, s.Message, w.record().Acknowledged)
	}
}

// run settles the world, with a kill at the given look.
func (w *world) run(t *testing.T, kill, how int) {
	t.Helper()
	for range kill {
		w.look(atNoTime)
		w.serve()
		w.pass(3 * time.Second)
	}
	w.look(how)
	s := w.settle(2 * time.Hour)
	if !s.Ready || s.Reason != infrav1.ReasonServing {
		t.Fatalf("killed at look %d: %s: %s", kill, s.Reason, s.Message)
	}
}

func BenchmarkNext(b *testing.B) {
	b.Run("serving", func(b *testing.B) {
		v := servingView()
		for b.Loop() {
			Next(v)
		}
	})
	b.Run("operation", func(b *testing.B) {
		v := at(infrav1.OperationRepave, infrav1.StepInstalling)
		for b.Loop() {
			Next(v)
		}
	})
	b.Run("restore", func(b *testing.B) {
		annotation := Record{Seen: true, Operation: anOperation()}.Encode()
		for b.Loop() {
			if _, err := Restore(annotation, infrav1.RepaveHostStatus{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
