// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var tokens = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "repave_join_tokens_written_total",
	Help: "Join tokens written into workload clusters, by result: minted or renewed.",
}, []string{"result"})

// Collectors are the metrics of this package, to be registered once.
func Collectors() []prometheus.Collector { return []prometheus.Collector{tokens} }

// ownedConditions are written here and nowhere else.
var ownedConditions = []string{infrav1.ConditionReady, infrav1.ConditionDataSecretAvailable}

// outcome is how a config stands after a look.
type outcome struct {
	available bool // the data is there
	reason    string
	message   string // why hosts cannot join by it; "" where they can
}

// refused tells an error to people, without anything secret: what is not a refusal of ours is only named by its kind. A refusal is no
// error any more after that.
func refused(err error) (outcome, error) {
	var ours *refusal
	var token tokenFailure
	switch {
	case errors.As(err, &ours):
		return outcome{reason: ours.reason, message: ours.message}, nil
	case errors.As(err, &token):
		return outcome{reason: infrav1.ReasonJoinTokenFailed, message: "the workload cluster refused the join token or its rights; see the log"}, err
	}
	return outcome{reason: infrav1.ReasonDataSecretPending, message: "the data could not be made; see the log"}, err
}

// report writes the status of a config.
func report(config *bootstrapv1.RepaveConfig, o outcome) {
	config.Status.ObservedGeneration = config.Generation
	if o.available {
		config.Status.DataSecretName = config.Name
		config.Status.Initialization.DataSecretCreated = ptr.To(true)
	}
	there := metav1.Condition{Type: infrav1.ConditionDataSecretAvailable, Status: metav1.ConditionTrue, Reason: infrav1.ReasonDataSecretAvailable}
	if !o.available {
		there.Status, there.Reason, there.Message = metav1.ConditionFalse, o.reason, o.message
	}
	ready := there
	ready.Type = infrav1.ConditionReady
	if o.reason != "" {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, o.reason, o.message
	}
	conditions.Set(config, there)
	conditions.Set(config, ready)
}
