// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

var commandOff = lifecycle.Command{ID: "x", Verb: lifecycle.ForceOff}

func requestOf(w *world) ctrl.Request { return ctrl.Request{NamespacedName: w.key} }

// TestKilledAtEveryWrite: the process dies before or after each of its writes during an install and during a reboot, and
// another goes on. Nothing is done twice, nothing is lost.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, applied := range []bool{false, true} {
		for at, killed := 1, true; killed; at++ {
			t.Run(fmt.Sprintf("write %d, applied %v", at, applied), func(t *testing.T) {
				w := newWorld(t)
				w.settle()
				w.restart(at, applied)
				mine := w.writes
				w.edit(w.claim)
				w.settle()
				w.says(infrav1.ConditionReady, infrav1.ReasonServing)
				w.Expect([]int{w.box.cuts, w.box.ons, len(w.redeemed)}).To(Equal([]int{0, 1, 1}))
				killed = mine.broken

				w.restart(at, applied)
				mine = w.writes
				w.edit(func(h *infrav1.RepaveHost) { h.Spec.Operations.RebootCounter = 3 })
				w.settle()
				w.says(infrav1.ConditionReady, infrav1.ReasonServing)
				w.Expect([]int{w.box.cuts, w.box.ons, len(w.redeemed)}).To(Equal([]int{1, 2, 1}))
				killed = killed || mine.broken

				host := w.host()
				w.Expect(host.Status.Operations).To(Equal(infrav1.Counters{RebootCounter: 3}))
				w.Expect(host.Status.History).To(HaveLen(2))
				for order, n := range w.redeemed {
					w.Expect(n).To(Equal(1), order)
				}
				for _, line := range host.Status.History {
					w.Expect(line.Attempts).To(Equal(int32(1)))
				}
			})
		}
	}
}

// TestKilledAfterEveryAct: the process dies with the BMC's command carried out and nothing of it remembered.
func TestKilledAfterEveryAct(t *testing.T) {
	for at, killed := 1, true; killed; at++ {
		t.Run(fmt.Sprintf("act %d", at), func(t *testing.T) {
			w := newWorld(t)
			w.settle()
			acts, mine := 0, w.writes
			w.bmcs.acts = func() {
				acts++
				mine.broken = mine.broken || acts == at
			}
			w.edit(func(h *infrav1.RepaveHost) {
				w.claim(h)
				h.Spec.Operations.RebootCounter = 1
			})
			w.settle()
			w.says(infrav1.ConditionReady, infrav1.ReasonServing)
			killed = mine.broken
			w.Expect([]int{w.box.cuts, w.box.ons, len(w.redeemed)}).To(Equal([]int{1, 2, 1}))
			w.Expect(w.host().Status.Operations).To(Equal(infrav1.Counters{RebootCounter: 1}))
		})
	}
}
