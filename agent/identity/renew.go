// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Lifetime is what the agent asks for: long enough that a host which was switched off for a season still speaks.
const Lifetime = 90 * 24 * time.Hour

// Requests takes certificate requests, with the host's present certificate. Creating one that is there is no error.
type Requests interface {
	CreateRequest(ctx context.Context, request *certificatesv1.CertificateSigningRequest) error
	Request(ctx context.Context, name string) (*certificatesv1.CertificateSigningRequest, error)
}

// errRefused says that a request will never be answered with a certificate.
var errRefused = errors.New("the certificate was refused")

// DueAt is when a certificate is to be renewed: after two thirds of its life.
func DueAt(certificate *x509.Certificate) time.Time {
	return certificate.NotBefore.Add(certificate.NotAfter.Sub(certificate.NotBefore) / 3 * 2)
}

// Keep renews the certificate whenever it is due, until the context ends. Each new one is on disk before use hears of it.
func (i *Identity) Keep(ctx context.Context, present tls.Certificate, api Requests, use func(tls.Certificate)) {
	pause := backoff()
	for {
		if err := i.sleep(ctx, DueAt(present.Leaf).Sub(i.Clock.Now())); err != nil {
			return
		}
		next, err := i.renew(ctx, api)
		if err == nil {
			i.Log.Info("Renewed the certificate", "until", next.Leaf.NotAfter)
			present, pause = next, backoff()
			use(present)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		i.Log.Warn("Renewing the certificate; tried again", "error", err)
		if err := i.sleep(ctx, pause.Step()); err != nil {
			return
		}
	}
}

// renew asks for a certificate with a new key and waits for it.
func (i *Identity) renew(ctx context.Context, api Requests) (tls.Certificate, error) {
	p, err := i.ask()
	if err != nil {
		return tls.Certificate{}, err
	}
	name, err := p.name()
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := api.CreateRequest(ctx, i.request(name, p.csr)); err != nil {
		return tls.Certificate{}, fmt.Errorf("asking for certificate: %w", err)
	}
	pause := backoff()
	for {
		request, err := api.Request(ctx, name)
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("reading certificate request: %w", i.startOver(err, apierrors.IsNotFound(err)))
		}
		if err := refusal(request); err != nil {
			return tls.Certificate{}, i.startOver(err, true)
		}
		if len(request.Status.Certificate) > 0 {
			certificate, err := i.accept(p, request.Status.Certificate)
			return certificate, i.startOver(err, err != nil)
		}
		if err := i.sleep(ctx, pause.Step()); err != nil {
			return tls.Certificate{}, err
		}
	}
}

// startOver makes the next attempt one with another key, where this one cannot succeed any more.
func (i *Identity) startOver(err error, another bool) error {
	if !another {
		return err
	}
	return errors.Join(err, i.Files.Remove(PendingPath))
}

func (i *Identity) request(name string, csr []byte) *certificatesv1.CertificateSigningRequest {
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:           csr,
			SignerName:        certificatesv1.KubeAPIServerClientSignerName,
			ExpirationSeconds: ptr.To(int32(Lifetime.Seconds())),
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth,
			},
		},
	}
	// The label is for people's eyes; a host's name may be longer than a label takes.
	if len(validation.IsValidLabelValue(i.Host.Name)) == 0 {
		request.Labels = map[string]string{infrav1.LabelHost: i.Host.Name}
	}
	return request
}

func refusal(request *certificatesv1.CertificateSigningRequest) error {
	for _, condition := range request.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		if condition.Type == certificatesv1.CertificateDenied || condition.Type == certificatesv1.CertificateFailed {
			return fmt.Errorf("%w: %s: %s", errRefused, condition.Reason, condition.Message)
		}
	}
	return nil
}
