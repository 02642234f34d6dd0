// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestReservations(t *testing.T) {
	g := NewWithT(t)
	var q queue
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a, b := client.ObjectKey{Namespace: "n", Name: "a"}, client.ObjectKey{Namespace: "n", Name: "b"}
	elsewhere := client.ObjectKey{Namespace: "other", Name: "b"}
	takenFor := func(machine client.ObjectKey, at time.Time) (is bool) {
		q.choose(machine, at, func(taken func(string) bool) string {
			is = taken("h")
			return ""
		})
		return is
	}
	q.choose(a, now, func(func(string) bool) string { return "h" })
	g.Expect(takenFor(a, now)).To(BeFalse(), "a reservation must not keep its own machine away")
	g.Expect(takenFor(b, now)).To(BeTrue())
	g.Expect(takenFor(elsewhere, now)).To(BeFalse(), "another namespace has other hosts")
	g.Expect(takenFor(b, now.Add(reservedFor))).To(BeFalse(), "a reservation must end by itself")
	q.drop(a)
	g.Expect(takenFor(b, now)).To(BeFalse())

	q.wait(a)
	q.wait(elsewhere)
	g.Expect(q.waiters("n")).To(ConsistOf(a))
	q.drop(a)
	g.Expect(q.waiters("n")).To(BeEmpty())
}

func TestMessagesStandForAWhile(t *testing.T) {
	g := NewWithT(t)
	var q queue
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a := client.ObjectKey{Namespace: "n", Name: "a"}
	q.wait(a)
	g.Expect(q.tell(a, now)).To(BeZero())
	q.wait(a)
	g.Expect(q.tell(a, now.Add(4*time.Second))).To(Equal(6 * time.Second))
	g.Expect(q.tell(a, now.Add(toldFor))).To(BeZero())
}
