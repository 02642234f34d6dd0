// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/index"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// ErrUnreachable: the workload cluster does not answer, so nothing is known of its Nodes.
var ErrUnreachable = errors.New("the workload cluster cannot be reached")

// answerWithin bounds one request to a workload cluster, so that a dead one delays no other machine for long.
const answerWithin = 10 * time.Second

// Clusters gives the connections to workload clusters; clustercache.ClusterCache is one. Its Nodes are best indexed with
// clustercache.NodeProviderIDIndex.
type Clusters interface {
	// GetClient gives a client that reads from a cache, or an error at once while the cluster is not connected.
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// GetRESTConfig gives what a drain connects with.
	GetRESTConfig(ctx context.Context, cluster client.ObjectKey) (*rest.Config, error)
	// Watch adds a watch, once for each connection.
	Watch(ctx context.Context, cluster client.ObjectKey, watcher clustercache.Watcher) error
	// GetClusterSource gives an event whenever a cluster is connected or lost.
	GetClusterSource(controllerName string, mapFunc func(context.Context, client.Object) []reconcile.Request, opts ...clustercache.GetClusterSourceOption) source.Source
}

// NodeFacts is what was seen of a Node.
type NodeFacts struct {
	// Found: the Node exists; the other facts are empty without it.
	Found bool
	// Name of the Node.
	Name string
	// Ready: its kubelet says so and is heard.
	Ready bool
	// Unschedulable: it is cordoned, by whomever.
	Unschedulable bool
	// CordonedBy is the machine, as namespace/name, that must give the cordon back; "" for none.
	CordonedBy string
	// BootID that its kubelet reports.
	BootID string
}

// Workload reaches into workload clusters. Made by New.
type Workload struct {
	clusters Clusters
	drains   drains
}

// Node finds the Node with a provider ID. A cluster that does not answer gives ErrUnreachable; a Node that does not exist is
// no error. Two Nodes with one provider ID are an error, as they are for Cluster API.
func (w *Workload) Node(ctx context.Context, cluster client.ObjectKey, providerID string) (NodeFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, err := w.clusters.GetClient(ctx, cluster)
	if err != nil {
		return NodeFacts{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	nodes, err := nodesWith(ctx, c, providerID)
	if err != nil {
		return NodeFacts{}, fmt.Errorf("%w: listing nodes: %w", ErrUnreachable, err)
	}
	switch len(nodes) {
	case 0:
		return NodeFacts{}, nil
	case 1:
		return factsOf(&nodes[0]), nil
	default:
		return NodeFacts{}, fmt.Errorf("finding node: %s and %s both have the provider ID %s", nodes[0].Name, nodes[1].Name, providerID)
	}
}

// nodesWith lists the Nodes with a provider ID: by index where the client has one, else by looking at all.
func nodesWith(ctx context.Context, c client.Client, providerID string) ([]corev1.Node, error) {
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes, client.MatchingFields{index.NodeProviderIDField: providerID}); err == nil {
		return nodes.Items, nil
	}
	if err := c.List(ctx, nodes); err != nil {
		return nil, err
	}
	var found []corev1.Node
	for i := range nodes.Items {
		if nodes.Items[i].Spec.ProviderID == providerID {
			found = append(found, nodes.Items[i])
		}
	}
	return found, nil
}

func factsOf(node *corev1.Node) NodeFacts {
	facts := NodeFacts{
		Found: true, Name: node.Name, Unschedulable: node.Spec.Unschedulable,
		CordonedBy: node.Annotations[infrav1.AnnotationCordoned], BootID: node.Status.NodeInfo.BootID,
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			facts.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	return facts
}

// NodeHandler handles the events of Nodes.
type NodeHandler = handler.TypedEventHandler[*corev1.Node, reconcile.Request]

// WatchNodes lets changes of Nodes that matter to machines reach a controller. Calling it again costs nothing; it must be
// called again after the connection to the cluster was lost.
func (w *Workload) WatchNodes(ctx context.Context, cluster client.ObjectKey, controller clustercache.SourceWatcher[reconcile.Request], handle NodeHandler) error {
	err := w.clusters.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.TypedWatcherOptions[*corev1.Node, reconcile.Request]{
		Name: "repavemachine-nodes", Watcher: controller, Kind: &corev1.Node{}, EventHandler: handle,
		Predicates: telling(),
	}))
	if err != nil {
		return fmt.Errorf("%w: watching nodes: %w", ErrUnreachable, err)
	}
	return nil
}

// Connections gives an event whenever a workload cluster is connected or lost, mapped from the Cluster to those who care.
func (w *Workload) Connections(controller string, mapFunc func(context.Context, client.Object) []reconcile.Request) source.Source {
	return w.clusters.GetClusterSource(controller, mapFunc)
}
