// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// host as the API shows it now.
func (r *rack) host(g Gomega, name string) *infrav1.RepaveHost {
	host := &infrav1.RepaveHost{}
	g.Expect(stage.client.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, host)).To(Succeed())
	return host
}

// machines of a pool, which Repave names after it.
func (r *rack) machines(g Gomega, pool string) []infrav1.RepaveMachine {
	var list infrav1.RepaveMachineList
	g.Expect(stage.client.List(r.ctx, &list, client.InNamespace(r.namespace))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(m infrav1.RepaveMachine) bool { return !strings.HasPrefix(m.Name, pool+"-") })
}

// machinesSay waits until the condition of every machine of a pool has a reason.
func (r *rack) machinesSay(pool, kind, reason string) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s of the machines of %s says %s", kind, pool, reason), func(g Gomega) {
		machines := r.machines(g, pool)
		g.Expect(machines).NotTo(BeEmpty())
		for _, m := range machines {
			c := said(g, m.Status.Conditions, kind)
			g.Expect(c.Reason).To(Equal(reason), m.Name+": "+c.Message)
		}
	})
}

// eventually waits until all that is expected holds at once.
func (r *rack) eventually(what string, holds func(g Gomega)) {
	r.t.Helper()
	r.Eventually(holds).WithContext(r.ctx).WithTimeout(patience).WithPolling(glance).Should(Succeed(), what)
}

// said is a condition as a person reads it.
func said(g Gomega, conditions []metav1.Condition, kind string) metav1.Condition {
	condition := meta.FindStatusCondition(conditions, kind)
	g.Expect(condition).NotTo(BeNil(), kind)
	return *condition
}

// hostSays waits until the condition of a host has a reason, and gives it.
func (r *rack) hostSays(name, kind, reason string) (found metav1.Condition) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s of host %s says %s", kind, name, reason), func(g Gomega) {
		found = said(g, r.host(g, name).Status.Conditions, kind)
		g.Expect(found.Reason).To(Equal(reason), found.Message)
	})
	return found
}

// poolSays waits until the condition of a pool has a reason, and gives it.
func (r *rack) poolSays(name, kind, reason string) (found metav1.Condition) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s of pool %s says %s", kind, name, reason), func(g Gomega) {
		pool := &infrav1.RepaveMachinePool{}
		g.Expect(stage.client.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, pool)).To(Succeed())
		found = said(g, pool.Status.Conditions, kind)
		g.Expect(found.Reason).To(Equal(reason), found.Message)
	})
	return found
}

// runs waits until all members of a pool run a release, proven, and their Nodes take pods.
func (r *rack) runs(pool string, size int, v release) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%d members of %s run", size, pool), func(g Gomega) {
		machines := r.machines(g, pool)
		g.Expect(machines).To(HaveLen(size))
		for _, m := range machines {
			ready := said(g, m.Status.Conditions, infrav1.ConditionReady)
			g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), m.Name+": "+ready.Reason+": "+ready.Message)
			g.Expect(said(g, m.Status.Conditions, infrav1.ConditionUpToDate).Reason).To(Equal(infrav1.ReasonMachineUpToDate))
			g.Expect(m.Status.HostRef).NotTo(BeNil())
			g.Expect(r.fleet.Server(m.Status.HostRef.Name).Box.Running()).To(Equal(v.digest()))
			g.Expect(r.cordoned(g, m.Status.HostRef.Name)).To(BeFalse())
		}
	})
}

// cordoned says whether the Node of a host takes no pods.
func (r *rack) cordoned(g Gomega, name string) bool {
	var node corev1.Node
	g.Expect(stage.client.Get(r.ctx, client.ObjectKey{Name: name}, &node)).To(Succeed())
	return node.Spec.Unschedulable
}

// count gives how often something happened to a box, with that detail.
func count(s *sim.Server, what, detail string) int {
	n := 0
	for _, e := range s.Box.Journal() {
		if e.What == what && e.Detail == detail {
			n++
		}
	}
	return n
}

// happens waits until something happened to a box for the nth time.
func (r *rack) happens(s *sim.Server, what string, n int) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s: %s, %d times", s.Name, what, n), func(g Gomega) { g.Expect(s.Box.Count(what)).To(Equal(n)) })
}

// power counts what a BMC was told and did: power taken away, and given.
func power(s *sim.Server) (offs, ons int) {
	for _, reset := range s.BMC.Resets() {
		if reset.Type == "On" {
			ons++
		} else {
			offs++
		}
	}
	return offs, ons
}

// untouched expects that nobody ever reset the servers and nothing ever ran on them.
func (r *rack) untouched(servers ...*sim.Server) {
	r.t.Helper()
	for _, s := range servers {
		r.Expect(s.BMC.Journal()).To(BeEmpty(), s.Name)
		r.Expect(s.Box.Journal()).To(BeEmpty(), s.Name)
	}
}

// tellMore shows how things were when a story failed.
func (r *rack) tellMore() {
	if !r.t.Failed() {
		return
	}
	for _, list := range []client.ObjectList{&infrav1.RepaveHostList{}, &infrav1.RepaveMachineList{}, &infrav1.RepaveMachinePoolList{}} {
		if err := stage.client.List(context.Background(), list, client.InNamespace(r.namespace)); err != nil {
			r.t.Log(err)
			continue
		}
		_ = meta.EachListItem(list, func(object runtime.Object) error {
			if o, ok := object.(client.Object); ok {
				o.SetManagedFields(nil)
			}
			text, err := json.Marshal(object)
			r.t.Logf("%s %v", text, err)
			return nil
		})
	}
	for _, s := range r.fleet.Servers {
		r.t.Logf("%s: box %+v, BMC %+v", s.Name, s.Box.Journal(), s.BMC.Journal())
	}
}
