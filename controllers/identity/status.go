// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// condition is how a decision stands in the request.
func condition(decision Decision) certificatesv1.CertificateSigningRequestCondition {
	out := certificatesv1.CertificateSigningRequestCondition{
		Type:    certificatesv1.CertificateDenied,
		Status:  corev1.ConditionTrue,
		Reason:  infrav1.EventCertificateRefused,
		Message: decision.Message,
	}
	if decision.Verdict == Approve {
		out.Type, out.Reason = certificatesv1.CertificateApproved, infrav1.EventCertificateIssued
	}
	return out
}
