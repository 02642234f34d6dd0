// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

// Secret is a value that must not be seen, and what to call it.
type Secret struct{ What, Value string }

// Run is where a run keeps its secrets, and where it must not show them.
type Run struct {
	Client client.Client
	// Dir holds repave-*.kubeconfig, and the logs in log/.
	Dir string
	// Namespace of the hosts; "" is all.
	Namespace string
}

// Secrets gives every secret of the run: passwords of BMCs, the key of orders and all that was derived from it, join tokens and
// tokens of ServiceAccounts.
func (r Run) Secrets(ctx context.Context) ([]Secret, error) {
	found, key, err := r.kept(ctx)
	if err != nil {
		return nil, err
	}
	orders, err := r.orders(ctx, key)
	if err != nil {
		return nil, err
	}
	tokens, err := r.tokens()
	return append(append(found, orders...), tokens...), err
}

// kept are those that the cluster keeps in Secrets.
func (r Run) kept(ctx context.Context) ([]Secret, order.Key, error) {
	var all corev1.SecretList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil, nil, fmt.Errorf("reading the Secrets: %w", err)
	}
	var found []Secret
	var key order.Key
	for _, object := range all.Items {
		ours := r.Namespace == "" || object.Namespace == r.Namespace
		switch {
		case object.Name == "repave-order-key":
			parsed, err := order.ParseKey(object.Data["key"])
			if err != nil {
				return nil, nil, err
			}
			key = parsed
			found = append(found, Secret{"the order key", string(object.Data["key"])})
		case object.Type == corev1.SecretTypeBootstrapToken:
			found = append(found, Secret{"a join token", string(object.Data["token-secret"])})
		case object.Type == corev1.SecretTypeBasicAuth && ours:
			found = append(found, Secret{"a BMC password", string(object.Data[corev1.BasicAuthPasswordKey])})
		}
	}
	if key == nil {
		return nil, nil, errors.New("there is no order key")
	}
	return found, key, nil
}

// orders are the tokens and credentials of all orders that the hosts had.
func (r Run) orders(ctx context.Context, key order.Key) ([]Secret, error) {
	var hosts infrav1.RepaveHostList
	if err := r.Client.List(ctx, &hosts, client.InNamespace(r.Namespace)); err != nil {
		return nil, fmt.Errorf("reading the hosts: %w", err)
	}
	var found []Secret
	for _, host := range hosts.Items {
		attempts := map[string]int32{}
		for _, record := range host.Status.History {
			attempts[record.ID] = record.Attempts
		}
		if op := host.Status.Operation; op != nil {
			attempts[op.ID] = op.Attempt
		}
		for id, most := range attempts {
			for attempt := int32(1); attempt <= most; attempt++ {
				id, uid := fmt.Sprintf("%s.%d", id, attempt), string(host.UID)
				found = append(found, Secret{"an order's token", key.Token(uid, id)}, Secret{"an order's credential", key.Credential(uid, id)})
			}
		}
	}
	return found, nil
}

// tokens are those of the ServiceAccounts that the processes of the provider run as.
func (r Run) tokens() ([]Secret, error) {
	kubeconfigs, err := filepath.Glob(filepath.Join(r.Dir, "repave-*.kubeconfig"))
	if err != nil || len(kubeconfigs) == 0 {
		return nil, fmt.Errorf("finding the kubeconfigs: %d found: %w", len(kubeconfigs), err)
	}
	var found []Secret
	for _, path := range kubeconfigs {
		config, err := clientcmd.LoadFromFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
		for _, user := range config.AuthInfos {
			if user.Token != "" {
				found = append(found, Secret{"a ServiceAccount token", user.Token})
			}
		}
	}
	return found, nil
}
