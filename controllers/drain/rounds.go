// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	kubectldrain "k8s.io/kubectl/pkg/drain"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const (
	// lostPodAfter is how long a pod on a Node that is not ready may be terminating: its kubelet will not tell of its end.
	lostPodAfter = 5 * time.Minute
	// overdueAfter is how long after its grace a pod is still taken to be ending: its kubelet has to tell of it.
	overdueAfter = 30 * time.Second
	// named is how many obstacles a message names.
	named = 3
)

// empty moves the pods off a Node, in rounds: list, ask each to go, pause. Pods that appear meanwhile are caught as well, and
// one that refuses does not keep the others.
func (w *Workload) empty(ctx context.Context, machine client.ObjectKey, r *run) {
	options := w.drains.options
	begun := options.Clock.Now()
	for {
		left, obstacles := w.round(ctx, r.goal)
		if ctx.Err() != nil {
			return
		}
		if left == 0 && len(obstacles) == 0 {
			w.drains.report(ctx, machine, r, Progress{State: Done})
			return
		}
		timeout := r.goal.options.Timeout.Duration
		late := timeout > 0 && options.Clock.Since(begun) >= timeout
		w.drains.report(ctx, machine, r, progressOf(obstacles, late, timeout))
		pause := options.Poll
		if len(obstacles) > 0 {
			pause = options.Retry
		}
		select {
		case <-options.Clock.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// progressOf says how far a drain is after a round that left pods.
func progressOf(obstacles []string, late bool, timeout time.Duration) Progress {
	what := "pods are still going"
	if len(obstacles) > 0 {
		slices.Sort(obstacles)
		what = strings.Join(obstacles[:min(len(obstacles), named)], "; ")
		if more := len(obstacles) - named; more > 0 {
			what += fmt.Sprintf("; and %d more", more)
		}
	}
	switch {
	case late:
		return Progress{State: Blocked, Message: fmt.Sprintf("not empty after %s, tried again: %s", timeout, what)}
	case len(obstacles) > 0:
		return Progress{State: Blocked, Message: what}
	default:
		return Progress{State: Running}
	}
}

// round asks every pod once to go. It gives how many are left and what is in the way.
func (w *Workload) round(ctx context.Context, g goal) (left int, obstacles []string) {
	clientset, err := w.clientset(ctx, g.cluster)
	if err != nil {
		return 0, []string{ErrUnreachable.Error()}
	}
	helper, err := helperFor(ctx, clientset, g)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, []string{"reading the Node: " + reasonOf(err)}
	}
	list, errs := helper.GetPodsForDeletion(g.node)
	if len(errs) > 0 {
		for _, err := range errs {
			obstacles = append(obstacles, inOurWords.Replace(reasonOf(err)))
		}
		return 0, obstacles
	}
	pods := list.Pods()
	for i := range pods {
		if ends := pods[i].DeletionTimestamp; ends != nil { // which includes the grace
			if w.drains.options.Clock.Since(ends.Time) > overdueAfter {
				obstacles = append(obstacles, fmt.Sprintf("pod %s/%s: its grace period is over and it has not ended", pods[i].Namespace, pods[i].Name))
			}
			continue
		}
		if err := helper.EvictPod(pods[i], policyv1.SchemeGroupVersion); err != nil && !apierrors.IsNotFound(err) {
			obstacles = append(obstacles, fmt.Sprintf("pod %s/%s: %s", pods[i].Namespace, pods[i].Name, reasonOf(err)))
		}
	}
	return len(pods), obstacles
}

// helperFor gives kubectl's rules of which pods have to go and how.
func helperFor(ctx context.Context, clientset kubernetes.Interface, g goal) (*kubectldrain.Helper, error) {
	node, err := clientset.CoreV1().Nodes().Get(ctx, g.node, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	helper := &kubectldrain.Helper{
		Ctx: ctx, Client: clientset, IgnoreAllDaemonSets: true, Force: g.options.Force,
		DeleteEmptyDirData: g.options.DeleteEmptyDirData, GracePeriodSeconds: gracePeriod(g.options), Out: io.Discard, ErrOut: io.Discard,
	}
	if !factsOf(node).Ready {
		helper.SkipWaitForDeleteTimeoutSeconds = int(lostPodAfter.Seconds())
	}
	return helper, nil
}

// gracePeriod is what kubectl understands: negative for each pod's own.
func gracePeriod(options infrav1.DrainOptions) int {
	if options.GracePeriodSeconds == nil {
		return -1
	}
	return int(*options.GracePeriodSeconds)
}

// inOurWords names the fields that kubectl knows as flags.
var inOurWords = strings.NewReplacer("use --force", "set drain.force", "use --delete-emptydir-data", "set drain.deleteEmptyDirData")

// reasonOf is an error as a condition may show it: the API server's own words where it answered, and of a connection that
// failed no address or port that changes from try to try.
func reasonOf(err error) string {
	var connection *url.Error
	if errors.As(err, &connection) {
		return ErrUnreachable.Error()
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err.Error()
	}
	words := status.ErrStatus.Message
	if status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				words += " " + cause.Message
			}
		}
	}
	return words
}
