// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/progress"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/view"
)

// await shows how far the hosts are until what was asked of each is proven or will not come about. One host that fails does
// not end the wait for the others.
func (p *plugin) await(ctx context.Context, c *cluster, asked map[string]progress.Ask) error {
	options := &client.ListOptions{Namespace: c.namespace}
	if len(asked) == 1 {
		for name := range asked {
			options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
		}
	}
	screen := p.screen()
	ended := map[string]bool{}
	var failures []error
	err := follow(ctx, c, &infrav1.RepaveHostList{}, &infrav1.RepaveHost{}, options, func(kind watch.EventType, object runtime.Object) (bool, error) {
		host, ok := object.(*infrav1.RepaveHost)
		if !ok {
			return false, nil
		}
		ask, wanted := asked[host.Name]
		if !wanted || ended[host.Name] {
			return false, nil
		}
		verdict := progress.Of(host, ask)
		if kind == watch.Deleted {
			verdict = progress.Verdict{State: progress.Failed, Line: fmt.Sprintf("%s: %s failed: the host was deleted", host.Name, ask)}
		}
		line := view.Plain(verdict.Line)
		screen.Show(host.Name, line)
		if verdict.State == progress.Failed {
			failures = append(failures, errors.New(line))
		}
		ended[host.Name] = verdict.State != progress.Running
		return verdict.State != progress.Running && len(ended) == len(asked) && all(ended), nil
	})
	return errors.Join(append(failures, err)...)
}

func all(ended map[string]bool) bool {
	for _, e := range ended {
		if !e {
			return false
		}
	}
	return true
}

// screen shows progress in place on a terminal and in lines elsewhere.
func (p *plugin) screen() *progress.Screen {
	s := &progress.Screen{Out: p.Out}
	if p.width > 0 {
		s.Fit = func(line string) string { return view.Clip(line, p.width) }
	}
	return s
}
