// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizers, one for each kind that owns something outside its own object.
const (
	// HostFinalizer keeps a host until its claim has ended and its BMC session is closed.
	HostFinalizer = "repavehost.infrastructure.cluster.x-k8s.io/release"
	// MachineFinalizer keeps a machine until its host is released.
	MachineFinalizer = "repavemachine.infrastructure.cluster.x-k8s.io/release"
	// PoolFinalizer keeps a pool until its machines are gone.
	PoolFinalizer = "repavemachinepool.infrastructure.cluster.x-k8s.io/machines"
)

// Labels.
const (
	// LabelHost on Leases, Roles, RoleBindings and CertificateSigningRequests: the RepaveHost they belong to.
	LabelHost = "repave.io/host"
	// LabelZone on hosts: their failure domain.
	LabelZone = "topology.kubernetes.io/zone"
)

// Annotations.
const (
	// AnnotationRecord on a host mirrors what must survive the loss of status: acknowledged counters, the open operation, the
	// pinned BMC certificate and the proven install. JSON; written by the host controller only.
	AnnotationRecord = "repave.io/record"
	// AnnotationRepinBMC on a host, set by a person: forget the pinned certificate of the BMC and trust the next one. The
	// controller removes it.
	AnnotationRepinBMC = "repave.io/repin-bmc"
	// AnnotationForceRelease on a host whose claim ends, or on a deleted host or machine, set by a person: release without power
	// control. The server may still run; cut its power by hand. The controller removes it from a host that it released by it.
	AnnotationForceRelease = "repave.io/force-release"
	// AnnotationHost on a machine: the host that it set out to claim. Saved before the claim, so that a machine never holds two.
	AnnotationHost = "repave.io/host"
	// AnnotationCordoned on a Node of the workload cluster: the machine that cordoned it. A Node that was cordoned by somebody
	// else carries none and stays cordoned.
	AnnotationCordoned = "repave.io/cordoned-by"
	// AnnotationDeleteForMove is set by clusterctl move on what it deletes in the cluster that it moves away from, in place of all
	// other annotations, the record and a pause included. The object lives on elsewhere: nothing must be done for this one.
	AnnotationDeleteForMove = "clusterctl.cluster.x-k8s.io/delete-for-move"
	// AnnotationOrder on a CertificateSigningRequest: the order by which a host asks for its first certificate.
	AnnotationOrder = "repave.io/order"
)

// The identity of a host's agent in the management cluster.
const (
	// HostUserPrefix is followed by namespace:name: the user of a host's agent.
	HostUserPrefix = "repave:host:"
	// HostGroup is the group of all agents.
	HostGroup = "repave:hosts"
)

// HostUser is the user name of the agent of a host.
func HostUser(namespace, name string) string { return HostUserPrefix + namespace + ":" + name }

// LeaseName is the name of the Lease by which the agent of a host shows that it lives, in the namespace of the host.
func LeaseName(host string) string { return "repave-host-" + host }

// AgentRoleName is the name of the Role and RoleBinding that let the agent of a host read its own host.
func AgentRoleName(host string) string { return "repave-host-" + host }

// Field managers of the parts of a host's status.
const (
	// AgentFieldOwner applies status.agent.
	AgentFieldOwner = "repave-agent"
	// NetbootFieldOwner applies status.netboot.
	NetbootFieldOwner = "repave-netboot"
)

// Kinds that are reported to Cluster API.
const (
	// PoolMachineKind is the kind of a pool's members.
	PoolMachineKind = "RepaveMachine"
)
