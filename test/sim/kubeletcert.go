// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate/csr"
)

// clientConfig gives the kubelet's own identity: the certificate on its disk, or a new one asked for with the bootstrap token.
func (k *kubelet) clientConfig(ctx context.Context, bootstrap *rest.Config, node string) (*rest.Config, error) {
	path := filepath.Join(k.root, kubeletCertificate)
	pair, err := os.ReadFile(path)
	if err != nil {
		if pair, err = requestCertificate(ctx, bootstrap, node); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("keeping the certificate: %w", err)
		}
		if err := replaceFile(path, pair, 0o600); err != nil {
			return nil, err
		}
	}
	if _, err := tls.X509KeyPair(pair, pair); err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	config := rest.AnonymousClientConfig(bootstrap)
	config.CertData, config.KeyData = pair, pair
	config.QPS, config.Burst = 20, 40
	return config, nil
}

func requestCertificate(ctx context.Context, bootstrap *rest.Config, node string) ([]byte, error) {
	client, err := kubernetes.NewForConfig(bootstrap)
	if err != nil {
		return nil, fmt.Errorf("asking for a certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
	}, crypto.Signer(key))
	if err != nil {
		return nil, fmt.Errorf("making a certificate request: %w", err)
	}
	name, uid, err := csr.RequestCertificateWithContext(ctx, client,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}), "",
		certificatesv1.KubeAPIServerClientKubeletSignerName, nil,
		[]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}, key)
	if err != nil {
		return nil, fmt.Errorf("asking for a certificate: %w", err)
	}
	certificate, err := csr.WaitForCertificate(ctx, client, name, uid)
	if err != nil {
		return nil, fmt.Errorf("waiting for the certificate: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key: %w", err)
	}
	return append(certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...), nil
}
