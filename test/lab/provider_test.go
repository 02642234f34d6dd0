// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const patience = "30s"

func TestControlPlaneIsInitializedAfterTheMark(t *testing.T) {
	g := NewWithT(t)
	s := newStory(t)
	s.createCluster()

	g.Expect(s.MarkControlPlaneInitialized(t.Context(), s.namespace, s.name)).To(Succeed())
	s.reconcileAgain()
	g.Expect(s.condition(clusterv1.ClusterControlPlaneInitializedCondition)).To(Equal(metav1.ConditionTrue), "the mark holds")
	g.Expect(s.get().Status.Initialization.ControlPlaneInitialized).To(Equal(ptr.To(true)))

	before := s.get().ResourceVersion
	g.Expect(s.MarkControlPlaneInitialized(t.Context(), s.namespace, s.name)).To(Succeed())
	g.Expect(s.get().ResourceVersion).To(Equal(before), "a second mark writes nothing")
}

// The reason why MarkControlPlaneInitialized writes a condition: should Cluster API ever derive it from the field, this fails.
func TestInitializationFieldAloneDoesNotInitialize(t *testing.T) {
	g := NewWithT(t)
	s := newStory(t)
	s.createCluster()
	s.reconcileAgain()

	cluster := s.get()
	before := cluster.DeepCopy()
	cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	g.Expect(s.client.Status().Patch(t.Context(), cluster, client.MergeFrom(before))).To(Succeed())
	s.reconcileAgain()
	g.Expect(s.condition(clusterv1.ClusterControlPlaneInitializedCondition)).To(Equal(metav1.ConditionFalse))
}

func TestMarkWithoutClusterNamesIt(t *testing.T) {
	g := NewWithT(t)
	c := shared.ControlPlane(t)
	err := c.MarkControlPlaneInitialized(t.Context(), "default", "nowhere")
	g.Expect(err).To(MatchError(ContainSubstring("default/nowhere")))
}

func TestClusterAPIConnectsThroughTheKubeconfigSecret(t *testing.T) {
	g := NewWithT(t)
	s := newStory(t)
	g.Expect(s.CreateKubeconfigSecret(t.Context(), s.namespace, s.name)).To(Succeed())
	g.Expect(s.CreateKubeconfigSecret(t.Context(), s.namespace, s.name)).To(Succeed(), "again is allowed")
	s.createCluster()
	g.Expect(s.MarkControlPlaneInitialized(t.Context(), s.namespace, s.name)).To(Succeed())
	g.Eventually(func() metav1.ConditionStatus {
		return s.condition(clusterv1.ClusterRemoteConnectionProbeCondition)
	}, patience, "50ms").Should(Equal(metav1.ConditionTrue))

	secret := &corev1.Secret{}
	g.Expect(s.ControlPlane.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.name + "-kubeconfig"}, secret)).To(Succeed())
	g.Expect(secret.Type).To(Equal(clusterv1.ClusterSecretType))
}

func TestClusterAPIIsMeasured(t *testing.T) {
	g := NewWithT(t)
	for _, p := range shared.ControlPlane(t).Processes() {
		if p.ended() {
			continue // a guest of another test
		}
		rss, err := p.RSS()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rss).To(BeNumerically(">", 10<<20), p.Name())
		t.Logf("%s: %d MB", p.Name(), rss>>20)
	}
}

// story is one Cluster without infrastructure in a namespace of its own.
type story struct {
	*ControlPlane
	t         *testing.T
	g         *WithT
	client    client.Client
	namespace string
	name      string
	rounds    int
}

func newStory(t *testing.T) *story {
	t.Helper()
	c := shared.ControlPlane(t)
	g := NewWithT(t)
	typed, err := c.clusterClient()
	g.Expect(err).NotTo(HaveOccurred())
	return &story{ControlPlane: c, t: t, g: g, client: typed, namespace: c.Namespace(t), name: "c1"}
}

func (s *story) createCluster() {
	s.t.Helper()
	s.g.Expect(s.Apply(s.t.Context(), []byte(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: `+s.name+`, namespace: `+s.namespace+`}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.1.0.0/16]}}
  controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}
`))).To(Succeed())
}

func (s *story) get() *clusterv1.Cluster {
	s.t.Helper()
	cluster := &clusterv1.Cluster{}
	s.g.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.name}, cluster)).To(Succeed())
	return cluster
}

func (s *story) condition(kind string) metav1.ConditionStatus {
	s.t.Helper()
	found := meta.FindStatusCondition(s.get().Status.Conditions, kind)
	if found == nil {
		return ""
	}
	return found.Status
}

// reconcileAgain returns when Cluster API has worked through the Cluster once more: it pauses and unpauses it, and waits
// until the manager has seen each generation.
func (s *story) reconcileAgain() {
	s.t.Helper()
	for _, paused := range []bool{true, false} {
		cluster := s.get()
		before := cluster.DeepCopy()
		cluster.Spec.Paused = ptr.To(paused)
		s.rounds++
		cluster.Annotations = map[string]string{"test/round": strconv.Itoa(s.rounds)}
		s.g.Expect(s.client.Patch(s.t.Context(), cluster, client.MergeFrom(before))).To(Succeed())
		want := metav1.ConditionFalse
		if paused {
			want = metav1.ConditionTrue
		}
		s.g.Eventually(func() metav1.ConditionStatus { return s.condition(clusterv1.PausedCondition) }, patience, "20ms").Should(Equal(want))
	}
	generation := s.get().Generation
	s.g.Eventually(func() int64 { return s.get().Status.ObservedGeneration }, patience, "20ms").Should(Equal(generation))
}
