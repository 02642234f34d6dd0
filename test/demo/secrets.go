// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

// secret is a value that must not be seen, and what to call it.
type secret struct{ what, value string }

// noSecrets looks for every secret of this run in all logs, Events and objects that it left.
func (s *story) noSecrets(ctx context.Context) error {
	secrets, err := s.secrets(ctx)
	if err != nil {
		return fmt.Errorf("collecting the secrets of this run: %w", err)
	}
	places, err := s.places(ctx)
	if err != nil {
		return fmt.Errorf("collecting what this run left: %w", err)
	}
	total := 0
	for where, text := range places {
		total += len(text)
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret.value)) {
				return fmt.Errorf("%s is readable in %s", secret.what, where)
			}
		}
	}
	s.prove("none of %d secrets is readable in %d kB of logs, Events and objects", len(secrets), total>>10)
	return nil
}

func (s *story) secrets(ctx context.Context) ([]secret, error) {
	found := []secret{{"a BMC password", bmcPassword}}
	var all corev1.SecretList
	if err := s.client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("reading the Secrets: %w", err)
	}
	var key order.Key
	for _, object := range all.Items {
		switch {
		case object.Name == "repave-order-key":
			parsed, err := order.ParseKey(object.Data["key"])
			if err != nil {
				return nil, err
			}
			key = parsed
			found = append(found, secret{"the order key", string(object.Data["key"])})
		case object.Type == corev1.SecretTypeBootstrapToken:
			found = append(found, secret{"a join token", string(object.Data["token-secret"])})
		}
	}
	if key == nil {
		return nil, errors.New("there is no order key")
	}
	var hosts infrav1.RepaveHostList
	if err := s.client.List(ctx, &hosts, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("reading the hosts: %w", err)
	}
	for _, host := range hosts.Items {
		for _, record := range host.Status.History {
			for attempt := int32(1); attempt <= record.Attempts; attempt++ {
				id := fmt.Sprintf("%s.%d", record.ID, attempt)
				found = append(found, secret{"an order's token", key.Token(string(host.UID), id)}, secret{"an order's credential", key.Credential(string(host.UID), id)})
			}
		}
	}
	kubeconfigs, err := filepath.Glob(filepath.Join(s.dir, "*.kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("finding the kubeconfigs: %w", err)
	}
	for _, path := range kubeconfigs {
		config, err := clientcmd.LoadFromFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
		for _, user := range config.AuthInfos {
			if user.Token != "" {
				found = append(found, secret{"a ServiceAccount token", user.Token})
			}
		}
	}
	return found, nil
}

// places gives all that people and monitoring can read: logs, Events, and every object but Secrets.
func (s *story) places(ctx context.Context) (map[string][]byte, error) {
	places := map[string][]byte{}
	logs, err := filepath.Glob(filepath.Join(s.logs(), "repave-*.log"))
	if err != nil || len(logs) == 0 {
		return nil, fmt.Errorf("finding the logs: %d found: %w", len(logs), err)
	}
	for _, path := range logs {
		if places[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	for _, list := range []client.ObjectList{
		&eventsv1.EventList{}, &infrav1.RepaveHostList{}, &infrav1.RepaveMachineList{}, &infrav1.RepaveMachinePoolList{}, &infrav1.RepaveClusterList{},
		&bootstrapv1.RepaveConfigList{}, &clusterv1.MachineList{}, &clusterv1.MachinePoolList{}, &corev1.NodeList{},
	} {
		if err := s.client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("reading %T: %w", list, err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("encoding %T: %w", list, err)
		}
		places[fmt.Sprintf("%T", list)] = text
	}
	return places, nil
}
