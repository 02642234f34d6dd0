// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// OfPool judges the rollout of a pool: proven when every member runs the wanted image, failed when it is halted.
func OfPool(pool *infrav1.RepaveMachinePool) Verdict {
	condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.ConditionUpToDate)
	if condition == nil || pool.Status.ObservedGeneration < pool.Generation {
		return Verdict{Running, pool.Name + ": the controller has not seen the latest change yet"}
	}
	line := pool.Name + ": " + condition.Reason
	if condition.Message != "" {
		line += ": " + condition.Message
	}
	switch {
	case condition.Status == metav1.ConditionTrue:
		return Verdict{Proven, line}
	case condition.Reason == infrav1.ReasonHalted:
		return Verdict{Failed, line}
	}
	return Verdict{Running, line}
}
