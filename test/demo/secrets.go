// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/repave-io/cluster-api-provider-repave/test/leaks"
)

// noSecrets looks for every secret of this run in all logs, Events and objects that it left.
func (s *story) noSecrets(ctx context.Context) error {
	run := leaks.Run{Client: s.client, Dir: s.dir, Namespace: namespace}
	secrets, err := run.Secrets(ctx)
	if err != nil {
		return fmt.Errorf("collecting the secrets of this run: %w", err)
	}
	places, err := run.Places(ctx)
	if err != nil {
		return fmt.Errorf("collecting what this run left: %w", err)
	}
	if err := leaks.Find(secrets, places); err != nil {
		return err
	}
	total := 0
	for _, text := range places {
		total += len(text)
	}
	s.prove("none of %d secrets is readable in %d kB of logs, Events and objects", len(secrets), total>>10)
	return nil
}
