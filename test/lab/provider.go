// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// markDeadline bounds the wait for Cluster API's first look at a Cluster, and for the mark to hold.
const markDeadline = 30 * time.Second

// MarkControlPlaneInitialized plays the control-plane provider the lab does not have: the Cluster needs no controlPlaneRef
// and no control-plane Machine, and afterwards Cluster API connects workers to it.
//
// For a Cluster without controlPlaneRef the core manager derives the ControlPlaneInitialized condition from control-plane
// Machines alone, and never from status.initialization; but it leaves a condition that is True as it is. So both are
// written, the condition with the manager's own reason. A reconcile in flight could still put its first False over it,
// hence, with Cluster API running, the mark waits until the manager has said False once. Marking again does nothing.
func (c *ControlPlane) MarkControlPlaneInitialized(ctx context.Context, namespace, cluster string) error {
	typed, err := c.clusterClient()
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, probeInterval, markDeadline, true, func(ctx context.Context) (bool, error) {
		found := &clusterv1.Cluster{}
		if err := typed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster}, found); err != nil {
			return false, err
		}
		current := meta.FindStatusCondition(found.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition)
		if current == nil && c.clusterAPIRuns() {
			return false, nil
		}
		if current != nil && current.Status == metav1.ConditionTrue {
			return true, nil
		}
		before := found.DeepCopy()
		found.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
		meta.SetStatusCondition(&found.Status.Conditions, metav1.Condition{
			Type:               clusterv1.ClusterControlPlaneInitializedCondition,
			Status:             metav1.ConditionTrue,
			Reason:             clusterv1.ClusterControlPlaneInitializedReason,
			ObservedGeneration: found.Generation,
		})
		// A merge patch replaces the whole list of conditions: the lock keeps what others wrote in between.
		mark := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := typed.Status().Patch(ctx, found, mark, client.FieldOwner(fieldManager))
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("marking control plane of %s/%s initialized: %w", namespace, cluster, err)
	}
	return nil
}

// CreateKubeconfigSecret writes the Secret through which Cluster API and our own ClusterCache reach the workload cluster;
// here it points back at this same API server, as admin. It replaces one that exists.
func (c *ControlPlane) CreateKubeconfigSecret(ctx context.Context, namespace, cluster string) error {
	content, err := c.credentials.kubeconfig(c.server, c.credentials.admin)
	if err != nil {
		return err
	}
	desired := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      secret.Name(cluster, secret.Kubeconfig),
			Namespace: namespace,
			Labels:    map[string]string{clusterv1.ClusterNameLabel: cluster},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{secret.KubeconfigDataName: content},
	}
	err = c.client.Create(ctx, desired, client.FieldOwner(fieldManager))
	if apierrors.IsAlreadyExists(err) {
		err = c.client.Update(ctx, desired, client.FieldOwner(fieldManager))
	}
	if err != nil {
		return fmt.Errorf("creating kubeconfig secret of %s/%s: %w", namespace, cluster, err)
	}
	return nil
}

func (c *ControlPlane) clusterClient() (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering Cluster API types: %w", err)
	}
	typed, err := client.New(c.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return typed, nil
}

// clusterAPIRuns says whether this lab's core manager lives.
func (c *ControlPlane) clusterAPIRuns() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.core == nil {
		return false
	}
	select {
	case <-c.core.done:
		return false
	default:
		return true
	}
}
