// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/url"
	"strings"
)

// PlanVersion is the version that every Plan carries.
const PlanVersion = "repave.io/plan/v1alpha1"

// AgentConfigVersion is the version that every AgentConfig carries.
const AgentConfigVersion = "repave.io/agent/v1alpha1"

// Where the installer leaves things on the disk, relative to its root.
const (
	// AgentConfigPath holds the AgentConfig as JSON, mode 0600.
	AgentConfigPath = "etc/repave/agent.json"
)

// Verbs of an order: the last element of its paths.
const (
	VerbBoot        = "boot"
	VerbPlan        = "plan"
	VerbFailure     = "failure"
	VerbCertificate = "certificate"
)

// PlanParameter is the kernel parameter by which the installer learns the URL of its plan.
const PlanParameter = "repave.plan"

// Path gives the path of a verb of an order: /v1/orders/namespace/host/order/token/verb. The certificate verb takes no
// secret in its path: token is "-" there.
func Path(namespace, host, order, token, verb string) string {
	return "/" + strings.Join([]string{"v1", "orders", url.PathEscape(namespace), url.PathEscape(host), url.PathEscape(order), url.PathEscape(token), verb}, "/")
}

// Host names a RepaveHost.
type Host struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Plan is what an installer is to do: put one disk image on the one disk that the hints name, on the one machine that has one
// of the interfaces, and leave the agent's configuration on it.
type Plan struct {
	Version string `json:"version"` // PlanVersion
	Order   string `json:"order"`
	Host    Host   `json:"host"`
	// Interfaces are the MACs of the host, lower case. A machine with none of them must write nothing.
	Interfaces []string   `json:"interfaces,omitempty"`
	RootDevice RootDevice `json:"rootDevice"`
	Image      string     `json:"image"` // digest of the netboot image, "sha256:…"
	Disk       Disk       `json:"disk"`
	// OSImage is the digest-pinned reference of the bootable OS image that the disk holds; "" where the image does not say.
	OSImage string      `json:"osImage,omitempty"`
	Agent   AgentConfig `json:"agent"`
}

// RootDevice are the hints that must match exactly one disk.
type RootDevice struct {
	SerialNumber     string `json:"serialNumber,omitempty"`
	WWN              string `json:"wwn,omitempty"`
	MinSizeGigabytes int32  `json:"minSizeGigabytes,omitempty"` // 10^9 bytes
	DeviceName       string `json:"deviceName,omitempty"`
}

// Disk is the disk image to write.
type Disk struct {
	URL         string `json:"url"`
	SHA256      string `json:"sha256"` // hex, of the bytes served
	Size        int64  `json:"size"`   // bytes served
	Compression string `json:"compression,omitempty"`
}

// AgentConfig is all that the agent of a host needs at its first start.
type AgentConfig struct {
	Version string `json:"version"` // AgentConfigVersion
	Host    Host   `json:"host"`
	// APIServer of the management cluster.
	APIServer APIServer `json:"apiServer"`
	// Enrolment is how the agent gets its first certificate; absent where it has one already.
	Enrolment *Enrolment `json:"enrolment,omitempty"`
	// Install is what the agent reports as the proof of the order.
	Install Install `json:"install"`
}

// APIServer is where and how the management cluster is reached.
type APIServer struct {
	URL string `json:"url"`
	CA  []byte `json:"ca"` // PEM
}

// Enrolment is the one-time credential of an order, good for one certificate.
type Enrolment struct {
	URL        string `json:"url"` // of the verb certificate
	Credential string `json:"credential"`
}

// Install names the order and the netboot image that were carried out.
type Install struct {
	Order  string `json:"order"`
	Digest string `json:"digest"`
	// OSImage is the digest-pinned reference of the OS image that was installed, "" where unknown.
	OSImage string `json:"osImage,omitempty"`
}

// Failure is the installer's last word on an order.
type Failure struct {
	// Reason is one of DigestMismatch, DiskNotFound, WrongHost, InstallFailed (reasons of the host's condition Ready).
	Reason  string `json:"reason"`
	Message string `json:"message"` // at most 1024 bytes are kept
}

// CertificateRequest asks for the certificate of a host's agent.
type CertificateRequest struct {
	// CSR is the PEM of the request; its subject must be that of the host's agent.
	CSR []byte `json:"csr"`
}

// Certificate is the answer.
type Certificate struct {
	Certificate []byte `json:"certificate"` // PEM
}
