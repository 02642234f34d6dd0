// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// observe reads all that decides about a request. The host is nil where there is none.
func (r *Reconciler) observe(ctx context.Context, request *certificatesv1.CertificateSigningRequest) (View, *infrav1.RepaveHost, error) {
	v := viewRequest(request)
	v.NetbootUsers = r.NetbootUsers
	namespace, name, ok := hostOf(v.CommonName)
	if !ok {
		return v, nil, nil
	}
	// Past the cache: an order may have been redeemed a moment ago, and a denial is for good.
	host := &infrav1.RepaveHost{}
	err := r.APIReader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, host)
	if apierrors.IsNotFound(err) {
		return v, nil, nil
	}
	if err != nil {
		return View{}, nil, fmt.Errorf("reading host: %w", err)
	}
	v.Host = viewHost(host)
	return v, host, nil
}

// viewRequest reads the request itself.
func viewRequest(request *certificatesv1.CertificateSigningRequest) View {
	_, labelled := request.Labels[infrav1.LabelHost]
	v := View{
		Signer:    request.Spec.SignerName,
		Requester: request.Spec.Username,
		Groups:    request.Spec.Groups,
		Labelled:  labelled,
		Order:     request.Annotations[infrav1.AnnotationOrder],
		Usages:    request.Spec.Usages,
	}
	if request.Spec.ExpirationSeconds != nil {
		v.Lifetime = time.Duration(*request.Spec.ExpirationSeconds) * time.Second
	}
	for _, condition := range request.Status.Conditions {
		if condition.Type == certificatesv1.CertificateApproved || condition.Type == certificatesv1.CertificateDenied {
			v.Decided = true
		}
	}
	parsed, err := parse(request.Spec.Request)
	if err != nil {
		v.Malformed = true
		return v
	}
	subject := parsed.Subject
	v.CommonName, v.Organization = subject.CommonName, subject.Organization
	names := 0
	for _, rdn := range subject.ToRDNSequence() {
		names += len(rdn)
	}
	alternatives := len(parsed.DNSNames) + len(parsed.EmailAddresses) + len(parsed.IPAddresses) + len(parsed.URIs)
	v.Extras = alternatives > 0 || names != 1+len(subject.Organization) || len(subject.Names) != names
	return v
}

func parse(text []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("parsing request: not one PEM block")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing request: %w", err)
	}
	if err := parsed.CheckSignature(); err != nil {
		return nil, fmt.Errorf("checking request: %w", err)
	}
	return parsed, nil
}

// viewHost reads what an order of the host may be. A record that cannot be read has no open order.
func viewHost(host *infrav1.RepaveHost) Host {
	out := Host{Exists: true, Deleting: !host.DeletionTimestamp.IsZero()}
	view, err := lifecycle.ViewBoot(host, "")
	operation := view.Operation
	if err != nil || view.Ending || operation == nil || operation.Method != infrav1.MethodNetboot || operation.Step == infrav1.StepGaveUp {
		return out
	}
	out.Order = lifecycle.OrderID(*operation)
	view.Order = out.Order
	out.Redeemed = lifecycle.Redeemed(view)
	return out
}
