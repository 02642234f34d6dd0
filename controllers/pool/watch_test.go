// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// series counts the series of a pool.
func series(pool client.ObjectKey) int {
	n := 0
	for _, collector := range Collectors() {
		found := make(chan prometheus.Metric, 1000)
		collector.Collect(found)
		close(found)
		for metric := range found {
			out := &dto.Metric{}
			if metric.Write(out) != nil {
				continue
			}
			labels := map[string]string{}
			for _, pair := range out.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if labels["namespace"] == pool.Namespace && labels["name"] == pool.Name {
				n++
			}
		}
	}
	return n
}

// start runs the reconciler of a story as a manager does, with caches and watches, until the test ends.
func (s *story) start(t *testing.T) {
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
	})
	s.Expect(err).NotTo(HaveOccurred())
	s.reconciler.Client, s.reconciler.APIReader = manager.GetClient(), manager.GetAPIReader()
	s.Expect(s.reconciler.SetupWithManager(manager, controller.Options{SkipNameValidation: ptr.To(true)})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("running the manager: %v", err)
		}
	})
}

// TestWholeLife runs a pool under a manager: everything that it must react to reaches it by a watch.
func TestWholeLife(t *testing.T) {
	s := tell(t, 2)
	s.start(t)
	s.SetDefaultEventuallyTimeout(time.Minute)
	key := client.ObjectKeyFromObject(s.pool)
	pool := func(is func(*infrav1.RepaveMachinePool) bool) func() bool {
		return func() bool { return live.Get(s.ctx, key, s.pool) == nil && is(s.pool) }
	}

	s.Eventually(func() int { return len(s.members()) }).Should(Equal(2))
	s.adopt()
	s.all(serve("a"))
	s.Eventually(pool(func(p *infrav1.RepaveMachinePool) bool { return p.Status.Ready && len(p.Spec.ProviderIDList) == 2 })).Should(BeTrue())
	s.Expect(series(key)).To(Equal(7))

	s.Eventually(func() error { return s.tryWants("b") }).Should(Succeed())
	s.Eventually(func() bool {
		return len(s.members()) == 2 && s.members()[0].Spec.WantedDigest() == digest("b") && s.members()[1].Spec.WantedDigest() == digest("b")
	}).Should(BeTrue())
	s.all(step("b", infrav1.UpdateStaged))
	for range 2 {
		s.Eventually(s.slots).Should(HaveLen(1))
		done := s.slots()[0]
		s.change(done, serve("b"))
		s.Eventually(s.slots).ShouldNot(ContainElement(done))
	}
	s.Eventually(pool(func(p *infrav1.RepaveMachinePool) bool { return p.Status.DeployedDigest == digest("b") })).Should(BeTrue())

	s.scales(1)
	s.Eventually(func() int { return s.leaving() }).Should(Equal(1))
	s.bury()
	s.Eventually(pool(func(p *infrav1.RepaveMachinePool) bool { return ptr.Deref(p.Status.Replicas, 0) == 1 })).Should(BeTrue())

	s.Expect(live.Delete(s.ctx, s.pool)).To(Succeed())
	s.Eventually(func() int { return s.leaving() }).Should(Equal(1))
	s.bury()
	s.Eventually(func() bool { return apierrors.IsNotFound(live.Get(s.ctx, key, s.pool)) }).Should(BeTrue())
	s.Eventually(func() int { return series(key) }).Should(BeZero())
}

// leaving counts the Machines that are being deleted.
func (s *story) leaving() int {
	n := 0
	for _, machine := range s.machines() {
		if !machine.DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}

// tryWants is wants where somebody else writes the pool at the same time.
func (s *story) tryWants(letter string) error {
	pool := &infrav1.RepaveMachinePool{}
	if err := live.Get(s.ctx, client.ObjectKeyFromObject(s.pool), pool); err != nil {
		return err
	}
	pool.Spec.Template.Spec.Image = image(letter)
	return live.Update(s.ctx, pool)
}

// TestLabelLeadsToThePool: a machine that lost its owner still wakes its pool, by its label.
func TestLabelLeadsToThePool(t *testing.T) {
	s := tell(t, 1)
	member := &infrav1.RepaveMachine{}
	member.Namespace = s.namespace
	member.Labels = map[string]string{clusterv1.MachinePoolNameLabel: "workers"}
	s.Expect(s.reconciler.poolOfMember(s.ctx, member)).To(Equal([]ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(s.pool)}}))
	member.Labels[clusterv1.MachinePoolNameLabel] = "others"
	s.Expect(s.reconciler.poolOfMember(s.ctx, member)).To(BeEmpty())
}
