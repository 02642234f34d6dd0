// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Where things are on the host. Each file holds a key and is replaced as a whole, so that key and certificate always fit.
const (
	// CertificatePath holds certificates and key in use.
	CertificatePath = "etc/repave/pki/agent.pem"
	// PendingPath holds key and request of the certificate that is being asked for.
	PendingPath = "etc/repave/pki/pending.pem"
)

// ErrNone says that the host has no certificate it could use.
var ErrNone = errors.New("the host has no certificate")

// Files is the part of a host that keeps keys.
type Files interface {
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, content []byte, mode fs.FileMode) error
	Remove(name string) error
}

const (
	typeKey         = "EC PRIVATE KEY"
	typeRequest     = "CERTIFICATE REQUEST"
	typeCertificate = "CERTIFICATE"
)

// Load reads the certificate in use. The error is ErrNone where there is none, or none that can be read.
func (i *Identity) Load() (tls.Certificate, error) {
	raw, err := i.Files.ReadFile(CertificatePath)
	if errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, ErrNone
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading certificate: %w", err)
	}
	certificate, err := tls.X509KeyPair(raw, raw)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%w that can be read: %s is damaged", ErrNone, CertificatePath)
	}
	return certificate, nil
}

// pending is a certificate that is being asked for.
type pending struct {
	key *ecdsa.PrivateKey
	csr []byte // PEM
}

// name of the request: the same for the same key, so that asking twice makes one request.
func (p pending) name() (string, error) {
	public, err := x509.MarshalPKIXPublicKey(p.key.Public())
	if err != nil {
		return "", fmt.Errorf("naming request: %w", err)
	}
	sum := sha256.Sum256(public)
	return "repave-host-" + hex.EncodeToString(sum[:16]), nil
}

// ask gives the pending request of the host. A new key is on disk before anyone hears of it.
func (i *Identity) ask() (pending, error) {
	raw, err := i.Files.ReadFile(PendingPath)
	if err == nil {
		if p, err := parsePending(raw); err == nil {
			return p, nil
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pending{}, fmt.Errorf("making key: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
		CommonName:   infrav1.HostUser(i.Host.Namespace, i.Host.Name),
		Organization: []string{infrav1.HostGroup},
	}}, key)
	if err != nil {
		return pending{}, fmt.Errorf("making certificate request: %w", err)
	}
	p := pending{key: key, csr: pem.EncodeToMemory(&pem.Block{Type: typeRequest, Bytes: der})}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pending{}, err
	}
	return p, i.Files.WriteFile(PendingPath, append(keyPEM, p.csr...), 0o600)
}

func parsePending(raw []byte) (pending, error) {
	block, rest := pem.Decode(raw)
	if block == nil || block.Type != typeKey {
		return pending{}, errors.New("reading pending request: no key")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return pending{}, errors.New("reading pending request: damaged key")
	}
	block, _ = pem.Decode(rest)
	if block == nil || block.Type != typeRequest {
		return pending{}, errors.New("reading pending request: no request")
	}
	return pending{key: key, csr: pem.EncodeToMemory(block)}, nil
}

// accept checks that a certificate answers the pending request and makes it the one in use.
func (i *Identity) accept(p pending, certificates []byte) (tls.Certificate, error) {
	key, err := encodeKey(p.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	chain := onlyCertificates(certificates)
	certificate, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return tls.Certificate{}, errors.New("accepting certificate: it is none, or not for the key of the host")
	}
	if got, want := certificate.Leaf.Subject.CommonName, infrav1.HostUser(i.Host.Namespace, i.Host.Name); got != want {
		return tls.Certificate{}, fmt.Errorf("accepting certificate: it is for %q, not for %q", got, want)
	}
	if err := i.Files.WriteFile(CertificatePath, append(chain, key...), 0o600); err != nil {
		return tls.Certificate{}, err
	}
	return certificate, i.Files.Remove(PendingPath)
}

// onlyCertificates drops whatever else an answer holds.
func onlyCertificates(raw []byte) []byte {
	var out bytes.Buffer
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == typeCertificate {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: typeCertificate, Bytes: block.Bytes}))
		}
	}
	return out.Bytes()
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: typeKey, Bytes: der}), nil
}
