// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// TestFinalizerComesBack: with the first record or, where a careless edit took it away, by itself.
func TestFinalizerComesBack(t *testing.T) {
	for name, lose := range map[string]func(*infrav1.RepaveHost){
		"the finalizer alone":          func(h *infrav1.RepaveHost) { h.Finalizers = nil },
		"the finalizer and the record": func(h *infrav1.RepaveHost) { h.Finalizers = nil; delete(h.Annotations, infrav1.AnnotationRecord) },
		"nothing: a host is taken up":  func(*infrav1.RepaveHost) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.settle()
			w.Expect(w.host().Finalizers).To(ContainElement(infrav1.HostFinalizer))
			w.edit(lose)
			w.settle()
			w.Expect(w.host().Finalizers).To(ContainElement(infrav1.HostFinalizer))
		})
	}
}
