// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

const note = "default/m"

func TestCordonIsGivenBackAsFound(t *testing.T) {
	g := NewWithT(t)
	ctx, node := t.Context(), newNode(t)
	w := newHands(t, &oneCluster{})
	facts := func() NodeFacts {
		facts, err := w.Node(ctx, key, node.Spec.ProviderID)
		g.Expect(err).NotTo(HaveOccurred())
		return facts
	}
	asFound := NodeFacts{Found: true, Name: node.Name, Ready: true, BootID: "boot-1"}
	g.Expect(facts()).To(Equal(asFound))

	g.Expect(w.Cordon(ctx, key, node.Name, note)).To(Succeed())
	cordoned := asFound
	cordoned.Unschedulable, cordoned.CordonedBy = true, note
	g.Expect(facts()).To(Equal(cordoned))
	g.Expect(w.Cordon(ctx, key, node.Name, note)).To(Succeed())
	g.Expect(facts()).To(Equal(cordoned))

	g.Expect(w.Uncordon(ctx, key, node.Name, "default/other")).To(Succeed())
	g.Expect(facts()).To(Equal(cordoned), "the cordon of another machine must stay")
	g.Expect(w.Uncordon(ctx, key, node.Name, note)).To(Succeed())
	g.Expect(facts()).To(Equal(asFound))
	g.Expect(w.Uncordon(ctx, key, "no-such-node", note)).To(Succeed())
}

func TestForeignCordonStays(t *testing.T) {
	g := NewWithT(t)
	ctx, node := t.Context(), newNode(t)
	node.Spec.Unschedulable = true
	g.Expect(direct.Update(ctx, node)).To(Succeed())
	w := newHands(t, &oneCluster{})
	g.Expect(w.Cordon(ctx, key, node.Name, note)).To(Succeed())
	g.Expect(w.Uncordon(ctx, key, node.Name, note)).To(Succeed())
	facts, err := w.Node(ctx, key, node.Spec.ProviderID)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(facts).To(Equal(NodeFacts{Found: true, Name: node.Name, Ready: true, BootID: "boot-1", Unschedulable: true}))
}

func TestNodeLookups(t *testing.T) {
	g := NewWithT(t)
	ctx, clusters := t.Context(), &oneCluster{}
	w := newHands(t, clusters)
	facts, err := w.Node(ctx, key, "repave://default/no/such")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(facts).To(Equal(NodeFacts{}))

	twice := newNode(t)
	twin := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "twin-"}, Spec: corev1.NodeSpec{ProviderID: twice.Spec.ProviderID}}
	g.Expect(direct.Create(ctx, twin)).To(Succeed())
	_, err = w.Node(ctx, key, twice.Spec.ProviderID)
	g.Expect(err).To(MatchError(ContainSubstring("both have the provider ID")))
	g.Expect(errors.Is(err, ErrUnreachable)).To(BeFalse())

	clusters.lost.Store(true)
	_, err = w.Node(ctx, key, twice.Spec.ProviderID)
	g.Expect(err).To(MatchError(ErrUnreachable))
	g.Expect(w.Cordon(ctx, key, twice.Name, note)).To(MatchError(ErrUnreachable))
	g.Expect(w.WatchNodes(ctx, key, nil, nil)).To(MatchError(ErrUnreachable))
}

// TestClusterCache checks that the real cache of Cluster API is what the hands expect, with and without its index.
func TestClusterCache(t *testing.T) {
	g := NewWithT(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: "repave://default/h/m"}}
	index := clustercache.NodeProviderIDIndex
	for name, builder := range map[string]*fake.ClientBuilder{
		"indexed": fake.NewClientBuilder().WithIndex(index.Object, index.Field, client.IndexerFunc(index.ExtractValue)),
		"plain":   fake.NewClientBuilder(),
	} {
		c := builder.WithScheme(clientgoscheme.Scheme).WithObjects(node.DeepCopy()).Build()
		w := newHands(t, clustercache.NewFakeClusterCache(c, key))
		facts, err := w.Node(t.Context(), key, node.Spec.ProviderID)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(facts.Name).To(Equal("n"), name)
		_, err = w.Node(t.Context(), client.ObjectKey{Namespace: "default", Name: "another"}, node.Spec.ProviderID)
		g.Expect(err).To(MatchError(ErrUnreachable), name)
	}
}

func TestOnlyTellingChangesWake(t *testing.T) {
	g := NewWithT(t)
	old := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	wakes := func(change func(*corev1.Node)) bool {
		changed := old.DeepCopy()
		change(changed)
		return telling()[0].Update(event.TypedUpdateEvent[*corev1.Node]{ObjectOld: old, ObjectNew: changed})
	}
	g.Expect(wakes(func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Now() })).To(BeFalse())
	g.Expect(wakes(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })).To(BeTrue())
	g.Expect(wakes(func(n *corev1.Node) { n.Spec.Unschedulable = true })).To(BeTrue())
	g.Expect(wakes(func(n *corev1.Node) { n.Spec.ProviderID = "x" })).To(BeTrue())
	g.Expect(wakes(func(n *corev1.Node) { n.Status.NodeInfo.BootID = "x" })).To(BeTrue())
}
