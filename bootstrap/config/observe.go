// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/bootstrap/render"
)

// user is who joins hosts by a config.
type user struct {
	cluster string
	needs   bool // a host may join by it, for the first time or again after a repave: until the user is being deleted
}

// user finds the Machine or MachinePool that a config belongs to; nil where there is none.
func (r *Reconciler) user(ctx context.Context, config *bootstrapv1.RepaveConfig) (*user, error) {
	machine, err := util.GetOwnerMachine(ctx, r.Client, config.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Machine: %w", err)
	}
	if err == nil && machine != nil {
		return &user{machine.Spec.ClusterName, machine.DeletionTimestamp.IsZero()}, nil
	}
	pool, err := util.GetOwnerMachinePool(ctx, r.Client, config.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting MachinePool: %w", err)
	}
	if err == nil && pool != nil {
		return &user{pool.Spec.ClusterName, pool.DeletionTimestamp.IsZero()}, nil
	}
	return nil, nil
}

// refusal is why a config cannot be served now, for people. It is not an error of ours: a pause or a person will help.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.reason + ": " + r.message }

// getSecret reads a Secret; nil where there is none.
func (r *Reconciler) getSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	found := &corev1.Secret{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, &refusal{infrav1.ReasonSecretForbidden, "the controller may not read Secrets in this namespace; bind the ClusterRole repave-bootstrap-secrets there"}
	case err != nil:
		return nil, fmt.Errorf("getting Secret %s: %w", name, err)
	}
	return found, nil
}

// data reads the data Secret of a config; nil where there is none.
func (r *Reconciler) data(ctx context.Context, config *bootstrapv1.RepaveConfig) (*corev1.Secret, error) {
	data, err := r.getSecret(ctx, config.Namespace, config.Name)
	if data != nil && !metav1.IsControlledBy(data, config) {
		return nil, &refusal{infrav1.ReasonSecretNotOurs, fmt.Sprintf("the Secret %s belongs to somebody else and is left alone", config.Name)}
	}
	return data, err
}

// facts reads what a host must know of the cluster out of the kubeconfig that Cluster API keeps of it. What is wrong with it is told
// without showing it.
func (r *Reconciler) facts(ctx context.Context, cluster *clusterv1.Cluster) (render.Cluster, error) {
	name := secret.Name(cluster.Name, secret.Kubeconfig)
	unusable := func(why string) error {
		return &refusal{infrav1.ReasonDataSecretPending, fmt.Sprintf("the Secret %s %s", name, why)}
	}
	kubeconfig, err := r.getSecret(ctx, cluster.Namespace, name)
	if err != nil {
		return render.Cluster{}, err
	}
	if kubeconfig == nil {
		return render.Cluster{}, unusable("is not there yet")
	}
	parsed, err := clientcmd.Load(kubeconfig.Data[secret.KubeconfigDataName])
	if err != nil {
		return render.Cluster{}, unusable("holds no kubeconfig")
	}
	current := parsed.Contexts[parsed.CurrentContext]
	if current == nil || parsed.Clusters[current.Cluster] == nil {
		return render.Cluster{}, unusable("has no current context")
	}
	entry := parsed.Clusters[current.Cluster]
	return render.Cluster{Name: cluster.Name, Server: entry.Server, CA: entry.CertificateAuthorityData}, nil
}
