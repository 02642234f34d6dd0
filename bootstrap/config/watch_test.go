// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// TestThroughTheClusterCache runs under a manager, with Cluster API's own ClusterCache leading to the workload cluster: the config
// waits until there is a connection.
func TestThroughTheClusterCache(t *testing.T) {
	s := tell(t, true)
	s.infrastructure(false)
	manager, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	s.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	clusters, err := clustercache.SetupWithManager(ctx, manager, clustercache.Options{
		SecretClient: manager.GetAPIReader(), Client: clustercache.ClientOptions{UserAgent: "repave-test"},
	}, controller.Options{SkipNameValidation: ptr.To(true)})
	s.Expect(err).NotTo(HaveOccurred())
	reconciler := &Reconciler{Client: manager.GetClient(), APIReader: manager.GetAPIReader(), Workload: clusters, Now: time.Now}
	s.Expect(reconciler.SetupWithManager(manager, controller.Options{SkipNameValidation: ptr.To(true)})).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("running the manager: %v", err)
		}
	})

	ready := func() string {
		if live.Get(s.ctx, client.ObjectKeyFromObject(s.config), s.config) != nil {
			return ""
		}
		return s.condition("Ready")
	}
	s.SetDefaultEventuallyTimeout(time.Minute)
	s.Eventually(ready).Should(Equal("False WaitingForCluster"))
	s.infrastructure(true)
	s.Eventually(ready).Should(Equal("True Available"))
	s.Expect(s.data().Data).To(HaveKey(bootstrapv1.SecretKey))
}

// TestWhoIsWoken: Machines and MachinePools wake the config that they name, Clusters all of theirs.
func TestWhoIsWoken(t *testing.T) {
	s := tell(t, true)
	want := []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(s.config)}}
	s.Expect(configOf(s.ctx, s.owner)).To(Equal(want))
	pool, _ := s.owner.(*clusterv1.MachinePool)
	s.Expect(configOf(s.ctx, &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace}, Spec: pool.Spec.Template.Spec,
	})).To(Equal(want))
	s.Expect(configOf(s.ctx, &clusterv1.Machine{})).To(BeEmpty())
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "c1"}}
	s.Expect(s.reconciler.configsOfCluster(s.ctx, cluster)).To(Equal(want))
	cluster.Name = "c2"
	s.Expect(s.reconciler.configsOfCluster(s.ctx, cluster)).To(BeEmpty())
}
