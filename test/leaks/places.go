// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Places gives all that people and monitoring can read: the logs of every process (those of a process before its restart and of
// the servers' agents included, where they are kept there), Events, and every object but Secrets.
func (r Run) Places(ctx context.Context) (map[string][]byte, error) {
	places := map[string][]byte{}
	logs, err := filepath.Glob(filepath.Join(r.Dir, "log", "*"))
	if err != nil || len(logs) == 0 {
		return nil, fmt.Errorf("finding the logs: %d found: %w", len(logs), err)
	}
	for _, path := range logs {
		if places[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
	}
	for _, list := range []client.ObjectList{
		&eventsv1.EventList{}, &infrav1.RepaveHostList{}, &infrav1.RepaveMachineList{}, &infrav1.RepaveMachinePoolList{}, &infrav1.RepaveClusterList{},
		&bootstrapv1.RepaveConfigList{}, &clusterv1.MachineList{}, &clusterv1.MachinePoolList{}, &corev1.NodeList{},
	} {
		if err := r.Client.List(ctx, list); err != nil {
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

// Find gives an error for the first secret that is readable in one of the places.
func Find(secrets []Secret, places map[string][]byte) error {
	for where, text := range places {
		for _, secret := range secrets {
			if secret.Value != "" && bytes.Contains(text, []byte(secret.Value)) {
				return fmt.Errorf("%s is readable in %s", secret.What, where)
			}
		}
	}
	return nil
}
