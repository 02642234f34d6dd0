// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// perform writes the decision into the request, and tells of it on the host.
func (r *Reconciler) perform(ctx context.Context, request *certificatesv1.CertificateSigningRequest, host *infrav1.RepaveHost, decision Decision) error {
	var event, action, kind string
	switch decision.Verdict {
	case Approve:
		event, action, kind = infrav1.EventCertificateIssued, "Approve", corev1.EventTypeNormal
	case Deny:
		event, action, kind = infrav1.EventCertificateRefused, "Deny", corev1.EventTypeWarning
	default:
		return nil
	}
	decided := request.DeepCopy()
	decided.Status.Conditions = append(decided.Status.Conditions, condition(decision))
	if err := r.Client.SubResource("approval").Update(ctx, decided); err != nil {
		return fmt.Errorf("deciding request %s: %w", request.Name, err)
	}
	if host != nil {
		r.Recorder.Eventf(host, nil, kind, event, action, "Certificate request %s: %s", request.Name, decision.Message)
	}
	return nil
}
