// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// certificateRequestBlock is the type of the PEM block of a request.
const certificateRequestBlock = "CERTIFICATE REQUEST"

// signingRequest makes the request of a host's agent for its first certificate. It refuses what the approver would deny, so
// that the agent hears why.
func signingRequest(host *infrav1.RepaveHost, order string, text []byte) (*certificatesv1.CertificateSigningRequest, error) {
	der := firstBlock(text, certificateRequestBlock)
	if der == nil {
		return nil, errors.New("csr must be one PEM block CERTIFICATE REQUEST")
	}
	parsed, err := x509.ParseCertificateRequest(der)
	if err != nil || parsed.CheckSignature() != nil {
		return nil, errors.New("csr is not a signed certificate request")
	}
	user := infrav1.HostUser(host.Namespace, host.Name)
	if parsed.Subject.CommonName != user || len(parsed.Subject.Organization) != 1 || parsed.Subject.Organization[0] != infrav1.HostGroup {
		return nil, fmt.Errorf("the subject must be CN=%s, O=%s", user, infrav1.HostGroup)
	}
	if len(parsed.DNSNames)+len(parsed.EmailAddresses)+len(parsed.IPAddresses)+len(parsed.URIs) > 0 {
		return nil, errors.New("the request must have no alternative names")
	}
	lifetime := int32(certificateLifetime.Seconds())
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			Name:        requestName(host, order),
			Labels:      map[string]string{infrav1.LabelHost: hostLabel(host)},
			Annotations: map[string]string{infrav1.AnnotationOrder: order},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			// Encoded anew: headers and white space of the PEM must not make one key look like two.
			Request:           pem.EncodeToMemory(&pem.Block{Type: certificateRequestBlock, Bytes: der}),
			SignerName:        certificatesv1.KubeAPIServerClientSignerName,
			ExpirationSeconds: &lifetime,
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, nil
}

// requestName follows from host and order, so that an order has one request, however often it is asked for.
func requestName(host *infrav1.RepaveHost, order string) string {
	return "repave-" + shortHash(string(host.UID)+"/"+order)
}

// hostLabel names a host in a label: namespace.name where that fits, a hash of it where it does not.
func hostLabel(host *infrav1.RepaveHost) string {
	value := host.Namespace + "." + host.Name
	if len(validation.IsValidLabelValue(value)) == 0 {
		return value
	}
	return "sha256-" + shortHash(value)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:20])
}
