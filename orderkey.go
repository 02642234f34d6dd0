// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

// orderKeyField is the key within the Secret.
const orderKeyField = "key"

// loadOrderKey reads the key of orders, and makes it when it is missing. Whoever loses the race to make it reads the winner's.
func loadOrderKey(ctx context.Context, mgr ctrl.Manager, o *options) (order.Key, error) {
	name, err := o.orderKeyName()
	if err != nil {
		return nil, err
	}
	// The manager's cache does not run yet, and Secrets are never cached.
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, fmt.Errorf("reading the order key: %w", err)
	}
	for range 2 {
		var secret corev1.Secret
		err = direct.Get(ctx, name, &secret)
		if err == nil {
			return order.ParseKey(secret.Data[orderKeyField])
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading the order key %s: %w", name, err)
		}
		key, err := order.NewKey()
		if err != nil {
			return nil, fmt.Errorf("making the order key: %w", err)
		}
		err = direct.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
			Data:       map[string][]byte{orderKeyField: key.Encode()},
		})
		if err == nil {
			return key, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("saving the order key %s: %w", name, err)
		}
	}
	return nil, fmt.Errorf("reading the order key %s: it comes and goes", name)
}
