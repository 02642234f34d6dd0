// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TLSMode says how the certificate of a BMC is checked.
// +kubebuilder:validation:Enum=PinOnFirstUse;CA;Insecure
type TLSMode string

// The ways to check a BMC's certificate.
const (
	// TLSPinOnFirstUse trusts the first certificate seen and refuses any other afterwards. The default.
	TLSPinOnFirstUse TLSMode = "PinOnFirstUse"
	// TLSCA verifies against the bundle named by caRef.
	TLSCA TLSMode = "CA"
	// TLSInsecure checks nothing; it is also what a plain http address needs.
	TLSInsecure TLSMode = "Insecure"
)

// BMCTLS says how the connection to a BMC is secured.
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'CA') == has(self.caRef)",message="caRef goes with mode CA, and mode CA needs it"
type BMCTLS struct {
	// mode of checking the certificate.
	// +optional
	// +kubebuilder:default=PinOnFirstUse
	Mode TLSMode `json:"mode,omitempty"`

	// caRef names a Secret with the key ca.crt (PEM); with mode CA only.
	// +optional
	CARef *SecretReference `json:"caRef,omitempty"`
}

// BMC is the management controller of a server, spoken to by Redfish.
// +kubebuilder:validation:XValidation:rule="self.address.startsWith('https://') || (self.address.startsWith('http://') && has(self.tls) && has(self.tls.mode) && self.tls.mode == 'Insecure')",message="address must be an https URL (plain http only with tls.mode Insecure)"
type BMC struct {
	// address is the Redfish root, for example https://10.0.0.7.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && !self.contains('@')",message="address must be a URL without user information, for example https://10.0.0.7"
	Address string `json:"address,omitempty"`

	// systemID picks the ComputerSystem where the BMC serves several. Found by itself when it serves exactly one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SystemID string `json:"systemID,omitempty"`

	// credentialsRef names a Secret with the keys username and password.
	// +required
	CredentialsRef SecretReference `json:"credentialsRef,omitzero"`

	// tls says how the BMC's certificate is checked.
	// +optional
	// +kubebuilder:default={mode: PinOnFirstUse}
	TLS BMCTLS `json:"tls,omitzero"`
}

// NetworkInterface is one network card of a host.
type NetworkInterface struct {
	// mac is the hardware address in lower case with colons. The installer writes nothing on a machine that has none of the
	// addresses its order names.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9a-f]{2}:){5}[0-9a-f]{2}$')",message="write the MAC in lower case with colons: 52:54:00:aa:00:01"
	// +kubebuilder:validation:MinLength=17
	// +kubebuilder:validation:MaxLength=17
	MAC string `json:"mac,omitempty"`
}

// RootDevice says which disk may be written. All hints given must match, and they must match exactly one disk; an
// ambiguous or missing match stops the install before anything is written.
// +kubebuilder:validation:MinProperties=1
type RootDevice struct {
	// serialNumber of the disk as the kernel reports it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SerialNumber string `json:"serialNumber,omitempty"`

	// wwn is the World Wide Name of the disk.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	WWN string `json:"wwn,omitempty"`

	// minSizeGigabytes is the least size in 10^9 bytes.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinSizeGigabytes int32 `json:"minSizeGigabytes,omitempty"`

	// deviceName is the stable path of the device, for example /dev/disk/by-path/….
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/dev/')",message="deviceName must be a path under /dev"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DeviceName string `json:"deviceName,omitempty"`
}

// HostClaim names the one RepaveMachine that a host serves.
type HostClaim struct {
	// name of the RepaveMachine, in the namespace of the host.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid of the RepaveMachine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
}

// DesiredState says how far an in-place repave may go.
// +kubebuilder:validation:Enum=Staged;Booted
type DesiredState string

// The stretches of an in-place repave that can be wished for.
const (
	// DesiredStaged: bring the image onto the host beside the running one; disturb nothing.
	DesiredStaged DesiredState = "Staged"
	// DesiredBooted: boot into the image.
	DesiredBooted DesiredState = "Booted"
)

// HostDesired is what the claiming Machine wants of a host. Written by the Machine controller only.
type HostDesired struct {
	// image is the operating system image to reach in place.
	// +optional
	Image *Image `json:"image,omitempty"`

	// state says how far the image may go.
	// +optional
	// +kubebuilder:default=Staged
	State DesiredState `json:"state,omitempty"`

	// netboot says what a netboot repave of this host installs.
	// +optional
	Netboot *Netboot `json:"netboot,omitempty"`

	// bootstrapDataSecretName is the Secret with the data by which the host joins its cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	BootstrapDataSecretName string `json:"bootstrapDataSecretName,omitempty"`

	// providerID of the Node, unique for each claim: repave://namespace/host/machine.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`
}

// Counters ask for operations: a value above the acknowledged one in status asks for one operation; any number of bumps
// while one is in flight coalesce into one more.
type Counters struct {
	// rebootCounter asks for a reboot.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RebootCounter int64 `json:"rebootCounter,omitempty"`

	// repaveCounter asks for a repave: the wanted image put on the host afresh.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RepaveCounter int64 `json:"repaveCounter,omitempty"`
}

// RepaveHostSpec is the inventory record of one server and what is wanted of it.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.claimRef) || !has(self.claimRef) || oldSelf.claimRef.name == self.claimRef.name",message="the host serves another machine; it must be released before it is claimed again"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.operations) || (has(self.operations) ? (has(self.operations.rebootCounter) ? self.operations.rebootCounter : 0) : 0) >= (has(oldSelf.operations.rebootCounter) ? oldSelf.operations.rebootCounter : 0)",message="rebootCounter never goes backwards; raise it to ask for a reboot"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.operations) || (has(self.operations) ? (has(self.operations.repaveCounter) ? self.operations.repaveCounter : 0) : 0) >= (has(oldSelf.operations.repaveCounter) ? oldSelf.operations.repaveCounter : 0)",message="repaveCounter never goes backwards; raise it to ask for a repave"
type RepaveHostSpec struct {
	// bmc is how the server is powered. Absent: no power control, in-place repaves only.
	// +optional
	BMC *BMC `json:"bmc,omitempty"`

	// interfaces are the network cards that may boot.
	// +optional
	// +listType=map
	// +listMapKey=mac
	// +kubebuilder:validation:MaxItems=16
	Interfaces []NetworkInterface `json:"interfaces,omitempty"`

	// rootDevice names the one disk that a netboot repave may write. Without it nothing is ever written.
	// +optional
	RootDevice *RootDevice `json:"rootDevice,omitempty"`

	// online is the wanted power state of a host that serves a machine. An unclaimed host is left as it is.
	// +optional
	// +kubebuilder:default=true
	Online *bool `json:"online,omitempty"`

	// claimRef is the machine that this host serves. Written by the Machine controller, by compare-and-swap.
	// +optional
	ClaimRef *HostClaim `json:"claimRef,omitempty"`

	// desired is what the claiming machine wants of this host.
	// +optional
	Desired *HostDesired `json:"desired,omitempty"`

	// operations asks for reboots and repaves of this host, by people.
	// +optional
	Operations Counters `json:"operations,omitzero"`
}

// RepaveHost is the persistent inventory record of one server.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=repavehosts,scope=Namespaced,shortName=rhost,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move-hierarchy="
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Machine",type=string,JSONPath=`.spec.claimRef.name`
// +kubebuilder:printcolumn:name="Power",type=string,JSONPath=`.status.power`
// +kubebuilder:printcolumn:name="Booted",type=string,JSONPath=`.status.agent.booted.version`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.operation.kind`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RepaveHost struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the inventory record and what is wanted.
	// +optional
	Spec RepaveHostSpec `json:"spec,omitempty"`
	// status is what was seen.
	// +optional
	Status RepaveHostStatus `json:"status,omitempty"`
}

// GetConditions gives the conditions of the host.
func (h *RepaveHost) GetConditions() []metav1.Condition { return h.Status.Conditions }

// SetConditions replaces the conditions of the host.
func (h *RepaveHost) SetConditions(c []metav1.Condition) { h.Status.Conditions = c }

// RepaveHostList is a list of hosts.
//
// +kubebuilder:object:root=true
type RepaveHostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RepaveHost `json:"items"`
}
