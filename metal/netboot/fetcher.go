// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const (
	// soonest is the least wait before a failed pull is looked at again.
	soonest = time.Second
	// awaited bounds the changes of images that wait to be looked at. More of them are dropped: each host with a pull under
	// way looks again after pullingAgain anyway.
	awaited      = 1024
	pullingAgain = 30 * time.Second
)

// Fetcher brings the netboot images of open operations into the Store, and says in status.netboot.image how far they are.
type Fetcher struct {
	// Client reads hosts from a cache and writes; APIReader reads pull secrets from the API server.
	Client    client.Client
	APIReader client.Reader
	Store     Store
	// WatchFilterValue limits the hosts to those with this value of Cluster API's watch label; "" takes all.
	WatchFilterValue string

	changed chan string
}

// NewFetcher makes a Fetcher. Its Notify goes into the options of the Store, so the Store is set afterwards.
func NewFetcher(c client.Client, apiReader client.Reader) *Fetcher {
	return &Fetcher{Client: c, APIReader: apiReader, changed: make(chan string, awaited)}
}

// Notify wakes the hosts that wait for an image. It never blocks.
func (f *Fetcher) Notify(digest string) {
	select {
	case f.changed <- digest:
	default:
	}
}

// SetupWithManager runs the Fetcher with every manager, leader or not: images are needed where they are served.
func (f *Fetcher) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	options.NeedLeaderElection = ptr.To(false)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("netboot-fetcher").
		For(&infrav1.RepaveHost{}, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), f.WatchFilterValue),
			predicate.NewPredicateFuncs(func(o client.Object) bool {
				host, ok := o.(*infrav1.RepaveHost)
				return ok && openOperation(host) != nil
			}))).
		WatchesRawSource(source.Func(f.wake)).
		WithOptions(options).
		Complete(f)
	if err != nil {
		return fmt.Errorf("setting up netboot fetcher: %w", err)
	}
	return nil
}

// wake passes on which hosts wait for images that changed, until ctx ends.
func (f *Fetcher) wake(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case digest := <-f.changed:
				f.enqueue(ctx, queue, digest)
			}
		}
	}()
	return nil
}

func (f *Fetcher) enqueue(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], digest string) {
	hosts := &infrav1.RepaveHostList{}
	if err := f.Client.List(ctx, hosts, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing hosts that wait for an image", "digest", digest)
		return
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		if operation := openOperation(host); operation != nil && operation.Digest == digest {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: host.Namespace, Name: host.Name}})
		}
	}
}

// Reconcile looks at one host. The host may be older than what was decided on it: then the write is refused, and the newer
// one is looked at.
func (f *Fetcher) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	host := &infrav1.RepaveHost{}
	if err := f.Client.Get(ctx, req.NamespacedName, host); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if f.WatchFilterValue != "" && host.Labels[clusterv1.WatchLabel] != f.WatchFilterValue {
		return ctrl.Result{}, nil // woken by an image that a host of ours wants as well
	}
	operation := openOperation(host)
	if operation == nil || operation.Digest == "" || annotations.HasPaused(host) {
		return ctrl.Result{}, nil
	}
	found, err := f.fetch(ctx, host, operation.Digest)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := netbootOf(host)
	if status.Image == found.status {
		return ctrl.Result{RequeueAfter: found.again}, nil
	}
	status.Image = found.status
	ctrl.LoggerFrom(ctx).V(2).Info("Recording a netboot image", "RepaveHost", klog.KObj(host), "digest", found.status.Digest, "state", found.status.State, "reason", found.status.Reason)
	err = applyNetboot(ctx, f.Client, host, status)
	if gone := apierrors.IsNotFound(err); gone || apierrors.IsConflict(err) {
		// Somebody was faster. The change wakes us where it has reached the cache; looking soon covers where it had already.
		return ctrl.Result{RequeueAfter: soonest}, nil
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: found.again}, nil
}
