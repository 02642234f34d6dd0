// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
)

// late shows hosts as they were when it was told to stop, as a cache may for a moment.
type late struct {
	hosts map[client.ObjectKey]*infrav1.RepaveHost
}

func (l *late) stop(host *infrav1.RepaveHost) {
	l.hosts = map[client.ObjectKey]*infrav1.RepaveHost{client.ObjectKeyFromObject(host): host}
}

func (l *late) client() client.Client {
	return interceptor.NewClient(direct, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if host, ok := obj.(*infrav1.RepaveHost); ok && l.hosts[key] != nil {
				l.hosts[key].DeepCopyInto(host)
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
}

// reaching reconciles the machine until it is at a step.
func (w *world) reaching(r *Reconciler, step infrav1.UpdateStep) {
	w.t.Helper()
	w.Eventually(func() infrav1.UpdateStep {
		_, err := r.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key("m")})
		w.Expect(err).NotTo(HaveOccurred())
		return w.step()
	}).Should(Equal(step))
}

// toTheSlot brings a machine by hand to where only a slot is missing.
func (w *world) toTheSlot(r *Reconciler) {
	w.t.Helper()
	w.host("h")
	w.machine("m")
	w.drive(r, "m")
	w.install("h", "m")
	w.node("h", "m")
	w.Eventually(func() corev1.ConditionStatus { return w.cachedReady("m") }).Should(Equal(corev1.ConditionTrue))
	w.reaching(r, infrav1.UpdateUpToDate)
	w.wantImage(digestB)
	w.reaching(r, infrav1.UpdateStaging)
	w.setHost("h", func(host *infrav1.RepaveHost) { host.Status.Agent.Staged = &infrav1.HostImage{Digest: digestB} })
	w.reaching(r, infrav1.UpdateStaged)
}

// cachedReady says what the cache of the workload cluster knows of the Node.
func (w *world) cachedReady(machine string) corev1.ConditionStatus {
	facts, err := drain.New(workload, drain.Options{}).Node(w.ctx, w.key("c"), ProviderID(w.namespace, "h", machine))
	if err != nil || !facts.Ready {
		return corev1.ConditionFalse
	}
	return corev1.ConditionTrue
}

// TestLateCacheHidesNoBoot: the wish changes right after the host was told to boot, while the cache does not know of that yet. The
// boot must not be taken for one that was never asked for: its Node would be given back to pods just before it goes down.
func TestLateCacheHidesNoBoot(t *testing.T) {
	w := newWorld(t, "")
	cache := &late{}
	r := newReconciler(cache.client())
	r.APIReader = direct
	w.toTheSlot(r)
	before := w.getHost("h")
	w.grantSlot(digestB)
	w.reaching(r, infrav1.UpdateBooting)
	w.Expect(w.asked()).To(Equal("Booted " + digestB))

	cache.stop(before)
	w.wantImage(digestA)
	for range 3 {
		_, err := r.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key("m")})
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Expect(w.step()).To(Equal(infrav1.UpdateBooting))
	w.Expect(w.getMachine("m").Status.Update.Digest).To(Equal(digestB))
	w.Expect(w.asked()).To(Equal("Booted " + digestB))
	w.Expect(w.getNode("h").Spec.Unschedulable).To(BeTrue())
}

// TestUncordonedNodeIsDrainedAgain: somebody gives the Node back to pods while a drained machine waits for its host.
func TestUncordonedNodeIsDrainedAgain(t *testing.T) {
	w := newWorld(t, "")
	r := newReconciler(direct)
	w.toTheSlot(r)
	w.grantSlot(digestB)
	w.reaching(r, infrav1.UpdateDraining)
	w.setHost("h", func(host *infrav1.RepaveHost) {
		condition(host, infrav1.ConditionAgentConnected, false, infrav1.ReasonLeaseExpired)
	})
	drained := func() drain.State {
		w.drive(r, "m")
		return r.Drains.Progress(w.key("m")).State
	}
	w.Eventually(drained).Should(Equal(drain.Done))

	node := w.getNode("h")
	node.Spec.Unschedulable = false
	w.Expect(direct.Update(w.ctx, node)).To(Succeed())
	w.Eventually(func() drain.State {
		_, err := r.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key("m")})
		w.Expect(err).NotTo(HaveOccurred())
		return r.Drains.Progress(w.key("m")).State
	}).Should(Equal(drain.None), "what was drained before says nothing about the pods that came since")
	w.Eventually(drained).Should(Equal(drain.Done))
	w.Expect(w.getNode("h").Spec.Unschedulable).To(BeTrue())
}

// refusing are Nodes that nobody may cordon.
type refusing struct{ Nodes }

var errRefused = errors.New("nodes is forbidden")

func (refusing) Cordon(context.Context, client.ObjectKey, string, string) error { return errRefused }

// TestRefusedEffectIsSeen: what stands in the way of an update shows in the machine, and not only in the log of the manager.
func TestRefusedEffectIsSeen(t *testing.T) {
	w := newWorld(t, "")
	r := newReconciler(direct)
	w.toTheSlot(r)
	w.grantSlot(digestB)
	r.Nodes = refusing{r.Nodes}
	var err error
	for range 3 {
		_, err = r.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key("m")})
	}
	w.Expect(err).To(MatchError(errRefused), "to be tried again with growing pauses")
	w.Expect(w.why("m", infrav1.ConditionUpToDate)).To(Equal("False Draining"))
	w.Expect(meta.FindStatusCondition(w.getMachine("m").Status.Conditions, infrav1.ConditionUpToDate).Message).To(Equal("cordoning the Node"))
}
