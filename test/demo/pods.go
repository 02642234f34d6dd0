// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// runPods puts one pod on the Node of every member. The demo has no scheduler, so each names its Node.
func (s *story) runPods(ctx context.Context) error {
	for name := range s.members {
		err := s.client.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-" + name},
			Spec: corev1.PodSpec{
				NodeName: name, Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}},
				AutomountServiceAccountToken:  ptr.To(false),
				TerminationGracePeriodSeconds: ptr.To[int64](1),
			},
		})
		if err != nil {
			return fmt.Errorf("making the pod of %s: %w", name, err)
		}
	}
	return nil
}

// podsMoved says whether every pod was evicted: a reboot alone would have left it on its Node.
func (s *story) podsMoved(ctx context.Context) error {
	var pods corev1.PodList
	if err := s.client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("reading the pods: %w", err)
	}
	if len(pods.Items) != 0 {
		return fmt.Errorf("%d pods are still on Nodes that were drained, for example %s", len(pods.Items), pods.Items[0].Name)
	}
	return nil
}
