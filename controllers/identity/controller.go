// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests,verbs=get;list;watch
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests/approval,verbs=update
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=signers,resourceNames=kubernetes.io/kube-apiserver-client,verbs=approve
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=repavehosts,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler decides about the certificate requests of hosts' agents.
type Reconciler struct {
	// Client reads requests from a cache and writes approvals; APIReader reads hosts from the API server.
	Client    client.Client
	APIReader client.Reader
	Recorder  events.EventRecorder
	// NetbootUsers are the user names of the netboot servers, who ask for first certificates:
	// system:serviceaccount:<namespace>:<name>.
	NetbootUsers []string
	// Namespace limits the hosts to those of one namespace; "" takes all.
	Namespace string
	// WatchFilterValue limits the hosts to those with this value of Cluster API's watch label; "" takes all.
	WatchFilterValue string
}

// SetupWithManager watches certificate requests.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("host-identity").
		For(&certificatesv1.CertificateSigningRequest{}, builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool {
			request, ok := o.(*certificatesv1.CertificateSigningRequest)
			return ok && request.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName
		}))).
		WithOptions(options).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up host identity: %w", err)
	}
	return nil
}

// Reconcile decides about one request.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	request := &certificatesv1.CertificateSigningRequest{}
	if err := r.Client.Get(ctx, req.NamespacedName, request); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if Decide(viewRequest(request)).Verdict == Ignore {
		return ctrl.Result{}, nil
	}
	view, host, err := r.observe(ctx, request)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing request: %w", err)
	}
	if !r.ours(view, host) {
		return ctrl.Result{}, nil
	}
	decision := Decide(view)
	ctrl.LoggerFrom(ctx).V(2).Info("Deciding about a certificate request", "CertificateSigningRequest", klog.KObj(request), "verdict", decision.Verdict, "why", decision.Message)
	err = r.perform(ctx, request, host, decision)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// Somebody decided in between; the watch brings what they decided.
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

// ours says whether the host of a request is one that this instance cares for.
func (r *Reconciler) ours(view View, host *infrav1.RepaveHost) bool {
	namespace, _, named := hostOf(view.CommonName)
	if r.Namespace != "" && named && namespace != r.Namespace {
		return false
	}
	return r.WatchFilterValue == "" || host == nil || host.Labels[clusterv1.WatchLabel] == r.WatchFilterValue
}
