// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=repaveconfigs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=repaveconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=repaveconfigs/finalizers,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters;machinepools;machines,verbs=get;list;watch

// WorkloadClusters leads to workload clusters. Cluster API's ClusterCache does.
type WorkloadClusters interface {
	// GetUncachedClient gives a client with the rights of the cluster's kubeconfig, that reads nothing from a cache. While there
	// is no connection the error is clustercache.ErrClusterNotConnected.
	GetUncachedClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// GetClusterSource wakes what mapFunc says whenever the connection to a cluster comes or goes.
	GetClusterSource(controllerName string, mapFunc func(context.Context, client.Object) []ctrl.Request, opts ...clustercache.GetClusterSourceOption) source.Source
}

// CheckInterval is the default of Reconciler.CheckInterval.
const CheckInterval = 10 * time.Minute

// Reconciler makes the bootstrap data of configs.
type Reconciler struct {
	// Client reads from a cache and writes; APIReader reads Secrets from the API server, with get only.
	Client    client.Client
	APIReader client.Reader
	Workload  WorkloadClusters
	Now       func() time.Time
	// CheckInterval is how often the Secret and the token of a config in use are looked after; 0: ten minutes. Secrets are not
	// watched, because that would take the right to read all of them.
	CheckInterval time.Duration
	// WatchFilterValue limits the configs to those with this value of Cluster API's watch label; "" takes all.
	WatchFilterValue string
}

const controllerName = "repaveconfig"

// SetupWithManager watches configs, those who use them, and the connections to their clusters.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	log := mgr.GetLogger()
	err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&bootstrapv1.RepaveConfig{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilterValue))).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(configOf)).
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(configOf)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.configsOfCluster)).
		WatchesRawSource(r.Workload.GetClusterSource(controllerName, r.configsOfCluster)).
		WithOptions(options).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up RepaveConfig: %w", err)
	}
	return nil
}

// configOf wakes the config that a Machine or MachinePool names.
func configOf(_ context.Context, o client.Object) []ctrl.Request {
	var ref clusterv1.ContractVersionedObjectReference
	switch owner := o.(type) {
	case *clusterv1.Machine:
		ref = owner.Spec.Bootstrap.ConfigRef
	case *clusterv1.MachinePool:
		ref = owner.Spec.Template.Spec.Bootstrap.ConfigRef
	}
	if ref.Kind != "RepaveConfig" || ref.APIGroup != bootstrapv1.GroupVersion.Group {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}}}
}

// configsOfCluster wakes all configs of a Cluster.
func (r *Reconciler) configsOfCluster(ctx context.Context, o client.Object) []ctrl.Request {
	configs := &bootstrapv1.RepaveConfigList{}
	err := r.Client.List(ctx, configs, client.InNamespace(o.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: o.GetName()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing RepaveConfigs")
		return nil
	}
	var requests []ctrl.Request
	for i := range configs.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&configs.Items[i])})
	}
	return requests
}

// Reconcile looks at one config. One that is being deleted needs nothing: its Secret goes with it, its token expires.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (_ ctrl.Result, reterr error) {
	config := &bootstrapv1.RepaveConfig{}
	if err := r.Client.Get(ctx, req.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	foreign := r.WatchFilterValue != "" && config.Labels[clusterv1.WatchLabel] != r.WatchFilterValue // events of users come unfiltered
	if foreign || !config.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	user, err := r.user(ctx, config)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("finding who uses the config: %w", err)
	}
	if user == nil {
		return ctrl.Result{}, nil // Cluster API has not adopted the config yet; its doing so wakes us
	}
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: user.cluster}, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.Client, cluster, config); err != nil || isPaused || requeue {
		return ctrl.Result{}, err
	}

	saved, err := patch.NewHelper(config, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("starting to patch: %w", err)
	}
	defer func() {
		reterr = errors.Join(reterr, saved.Patch(ctx, config, patch.WithOwnedConditions{Conditions: ownedConditions}))
	}()
	outcome, err := r.keep(ctx, config, cluster, user.needs)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: conflictPause}, nil // somebody was faster: nothing to tell, look again
	}
	report(config, outcome)
	if err != nil || !user.needs {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.pause(outcome)}, nil
}

// Pauses before another look where no watch tells of the change that is waited for.
const (
	connectPause  = 20 * time.Second
	conflictPause = time.Second
)

// pause says when to look again.
func (r *Reconciler) pause(outcome outcome) time.Duration {
	switch {
	case outcome.reason != "":
		return connectPause
	case r.CheckInterval > 0:
		return r.CheckInterval
	}
	return CheckInterval
}
