// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// follow calls see with every matching object as it is and then at each change, until see says that it has seen enough or the
// context ends. Connections that break are made again without anything being missed.
func follow(ctx context.Context, c *cluster, list client.ObjectList, object client.Object, options *client.ListOptions, see func(kind watch.EventType, o runtime.Object) (bool, error)) error {
	// A list of its own first: the watch would try for ever where the answer is that it may not, or that there is no such kind.
	if err := c.List(ctx, list.DeepCopyObject().(client.ObjectList), options); err != nil {
		return err
	}
	with := func(raw metav1.ListOptions) *client.ListOptions {
		o := *options
		o.Raw = &raw
		return &o
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			l := list.DeepCopyObject().(client.ObjectList)
			return l, c.List(ctx, l, with(raw))
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, list.DeepCopyObject().(client.ObjectList), with(raw))
		},
	}
	_, err := watchtools.UntilWithSync(ctx, source, object, nil, func(event watch.Event) (bool, error) { return see(event.Type, event.Object) })
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errTimedOut
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted; what was asked for stays asked for: %w", ctx.Err())
	}
	return err
}
