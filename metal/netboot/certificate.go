// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// certificate gets the first certificate of the agent that an order installed. The server asks in the agent's name and never
// decides: the approver looks at order, subject and requester by itself. One order asks for one key: the request has a name
// that follows from host and order, so a second key meets the first one's request. The cluster keeps that request for an hour
// after its approval, longer than an attempt lasts, and with the attempt the order ends.
func (s *Server) certificate(w http.ResponseWriter, r *http.Request, at route) error {
	if err := only(w, r, http.MethodPost); err != nil {
		return err
	}
	host, err := s.admit(r.Context(), at, bearer(r), s.Key.VerifyCredential)
	if err != nil {
		return err
	}
	if err := current(host, at.order); err != nil {
		return err
	}
	if !redeemed(host, at.order) {
		return refusedFor(refusedNotRedeemed, host)
	}
	var asked orderv1.CertificateRequest
	if err := readJSON(r, &asked); err != nil {
		return err
	}
	wanted, err := signingRequest(host, at.order, asked.CSR)
	if err != nil {
		return answer(http.StatusBadRequest, err.Error())
	}
	request, err := s.ensureRequest(r.Context(), wanted)
	if err != nil {
		return err
	}
	return s.answerCertificate(w, r, host, request)
}

// ensureRequest creates the signing request or finds it, if it is for the same key.
func (s *Server) ensureRequest(ctx context.Context, wanted *certificatesv1.CertificateSigningRequest) (*certificatesv1.CertificateSigningRequest, error) {
	err := s.Client.Create(ctx, wanted.DeepCopy())
	if err == nil {
		return wanted, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating certificate signing request: %w", err)
	}
	found := &certificatesv1.CertificateSigningRequest{}
	if err := s.APIReader.Get(ctx, client.ObjectKeyFromObject(wanted), found); err != nil {
		return nil, fmt.Errorf("reading certificate signing request: %w", err)
	}
	if !bytes.Equal(found.Spec.Request, wanted.Spec.Request) || found.Spec.SignerName != wanted.Spec.SignerName {
		return nil, answer(http.StatusConflict, "this order has asked for a certificate with another request already")
	}
	return found, nil
}

func (s *Server) answerCertificate(w http.ResponseWriter, r *http.Request, host *infrav1.RepaveHost, request *certificatesv1.CertificateSigningRequest) error {
	for _, condition := range request.Status.Conditions {
		if condition.Type == certificatesv1.CertificateDenied || condition.Type == certificatesv1.CertificateFailed {
			return refusedFor(refusedDenied, host)
		}
	}
	log := ctrl.LoggerFrom(r.Context()).WithValues("RepaveHost", klog.KObj(host), "CertificateSigningRequest", klog.KObj(request))
	if len(request.Status.Certificate) > 0 {
		log.V(2).Info("Handing out a certificate")
		return writeJSON(w, http.StatusOK, orderv1.Certificate{Certificate: request.Status.Certificate})
	}
	log.V(4).Info("Waiting for a certificate")
	return &answered{status: http.StatusAccepted, text: "being signed", again: pollAgain}
}

// bearer is the token of the Authorization header, or "".
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// firstBlock is the one block of a PEM, or nil.
func firstBlock(text []byte, kind string) []byte {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != kind || len(bytes.TrimSpace(rest)) > 0 {
		return nil
	}
	return block.Bytes
}
