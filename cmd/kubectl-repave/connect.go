// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// fieldOwner owns the counters that the plugin raises.
const fieldOwner = "kubectl-repave"

// cluster is a connection to the management cluster and the namespace that the person means.
type cluster struct {
	client.WithWatch
	namespace string
}

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, infrav1.AddToScheme(s)
}

func (p *plugin) connect() (*cluster, error) {
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	s, err := newScheme()
	if err != nil {
		return nil, fmt.Errorf("registering kinds: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: s})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return &cluster{WithWatch: c, namespace: namespace}, nil
}
