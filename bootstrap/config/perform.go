// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/bootstrap/render"
)

// keep sees to it that the data is there and that its token lets hosts in as long as that is needed. Data that is there is never
// changed: hosts may have read it. Its token is taken from it, so that token and data cannot come apart.
func (r *Reconciler) keep(ctx context.Context, config *bootstrapv1.RepaveConfig, cluster *clusterv1.Cluster, needed bool) (outcome, error) {
	if !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false) || !cluster.Spec.ControlPlaneEndpoint.IsValid() {
		return refused(&refusal{infrav1.ReasonWaitingForCluster, "the Cluster's infrastructure or endpoint is not there yet"})
	}
	data, err := r.data(ctx, config)
	if err != nil {
		return refused(err)
	}
	token := ""
	if data != nil {
		token = render.Token(data.Data[bootstrapv1.SecretKey])
	}
	if token != "" && !needed {
		return outcome{available: true}, nil
	}
	if token == "" {
		if err := render.Validate(config.Spec); err != nil {
			return refused(&refusal{infrav1.ReasonInvalidSpec, err.Error()})
		}
	}
	renewed, err := r.admit(ctx, config, cluster, token)
	if err != nil {
		result, err := refused(err)
		result.available = token != ""
		return result, err
	}
	if token != "" {
		return outcome{available: true}, nil
	}
	facts, err := r.facts(ctx, cluster)
	if err != nil {
		return refused(err)
	}
	if err := r.write(ctx, config, data, facts, renewed); err != nil {
		return refused(err)
	}
	return outcome{available: true}, nil
}

// admit makes the workload cluster let hosts in by the token, and gives it; an empty one is made.
func (r *Reconciler) admit(ctx context.Context, config *bootstrapv1.RepaveConfig, cluster *clusterv1.Cluster, token string) (string, error) {
	workload, err := r.Workload.GetUncachedClient(ctx, client.ObjectKeyFromObject(cluster))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return "", &refusal{infrav1.ReasonWorkloadUnreachable, "there is no connection to the workload cluster"}
	}
	if err != nil {
		return "", fmt.Errorf("connecting to the workload cluster: %w", err)
	}
	if err := bindRights(ctx, workload); err != nil {
		return "", tokenFailure{err}
	}
	token, err = r.keepToken(ctx, workload, config, token)
	if err != nil {
		return "", tokenFailure{err}
	}
	return token, nil
}

// tokenFailure is an error of the workload cluster.
type tokenFailure struct{ error }

func (f tokenFailure) Unwrap() error { return f.error }

// write renders the data and stores it: anew, or into a Secret of ours that has lost it.
func (r *Reconciler) write(ctx context.Context, config *bootstrapv1.RepaveConfig, lost *corev1.Secret, facts render.Cluster, token string) error {
	bytes, err := render.Agent(config.Spec, facts, token)
	if err != nil {
		return fmt.Errorf("rendering data: %w", err)
	}
	content := map[string][]byte{bootstrapv1.SecretKey: bytes, bootstrapv1.SecretFormatKey: []byte(bootstrapv1.FormatAgent)}
	ctrl.LoggerFrom(ctx).V(2).Info("Writing bootstrap data", "Secret", klog.KRef(config.Namespace, config.Name))
	if lost != nil {
		lost.Data = content
		if err := r.Client.Update(ctx, lost); err != nil {
			return fmt.Errorf("updating Secret %s: %w", lost.Name, err)
		}
		return nil
	}
	data := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: config.Namespace, Name: config.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: facts.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(config, bootstrapv1.GroupVersion.WithKind("RepaveConfig"))},
		},
		Type: clusterv1.ClusterSecretType,
		Data: content,
	}
	if err := r.Client.Create(ctx, data); err != nil {
		return fmt.Errorf("creating Secret %s: %w", data.Name, err)
	}
	return nil
}
