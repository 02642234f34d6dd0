// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// TestMovedHostIsLeftAlone: clusterctl move replaces the annotations, record and pause included, and deletes the object. The
// same server serves on in another management cluster, so this one must not touch it, whatever it was at.
func TestMovedHostIsLeftAlone(t *testing.T) {
	for name, wish := range map[string]func(*infrav1.RepaveHost){
		"serving":    func(h *infrav1.RepaveHost) { h.Spec.Operations.RebootCounter = 1 },
		"releasing":  func(h *infrav1.RepaveHost) { h.Spec.Desired = nil },
		"powers off": func(h *infrav1.RepaveHost) { off := false; h.Spec.Online = &off },
	} {
		t.Run(name, func(t *testing.T) {
			w := serving(t)
			w.edit(wish)
			w.turn()
			w.edit(func(h *infrav1.RepaveHost) { h.Annotations = map[string]string{infrav1.AnnotationDeleteForMove: ""} })
			w.Expect(direct.Delete(t.Context(), w.host())).To(Succeed())
			w.restart(0, false)
			before, cuts, ons := w.host(), w.box.cuts, w.box.ons
			w.settle()
			w.Expect(w.gone()).To(BeFalse(), "clusterctl takes the finalizer away")
			w.Expect(w.host().ResourceVersion).To(Equal(before.ResourceVersion))
			w.Expect([]int{w.box.cuts, w.box.ons}).To(Equal([]int{cuts, ons}))
			_, known := w.bmcs.Reading(Key(before))
			w.Expect(known).To(BeFalse(), "the session of the BMC is given back")
		})
	}
}

// TestHostOfAnotherManagerIsLeftAlone: Leases and Clusters wake hosts whatever their watch-filter label.
func TestHostOfAnotherManagerIsLeftAlone(t *testing.T) {
	w := newWorld(t, func(h *infrav1.RepaveHost) { h.Labels = map[string]string{clusterv1.WatchLabel: "theirs"} })
	w.r.WatchFilterValue = "ours"
	before := w.host()
	w.settle()
	w.Expect(w.host().ResourceVersion).To(Equal(before.ResourceVersion))
	w.r.WatchFilterValue = "theirs"
	w.settle()
	w.says(infrav1.ConditionReady, infrav1.ReasonAvailable)
}

// TestHostMadeAnewIsAnotherServer: what was read for a host is not taken for the next of its name.
func TestHostMadeAnewIsAnotherServer(t *testing.T) {
	w := newWorld(t)
	w.settle()
	w.edit(func(h *infrav1.RepaveHost) { h.Finalizers = nil }) // taken away by hand, so that nobody said goodbye
	old := w.host()
	w.Expect(direct.Delete(t.Context(), old)).To(Succeed())
	anew := &infrav1.RepaveHost{}
	anew.Namespace, anew.Name, anew.Spec = old.Namespace, old.Name, old.Spec
	anew.Spec.BMC.Address = "https://10.0.0.8"
	w.Expect(direct.Create(t.Context(), anew)).To(Succeed())
	for range 4 { // less than credentialsAge
		w.turn()
	}
	w.Expect(w.bmcs.endpoint[Key(anew)].Address).To(Equal("https://10.0.0.8"))
}
