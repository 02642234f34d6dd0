// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of Events: one at the start and one at the outcome of what a person would want to know of.
const (
	EventHostEnrolled       = "HostEnrolled"       // the BMC answered for the first time
	EventBMCUnreachable     = "BMCUnreachable"     // the BMC stopped answering, or refuses
	EventBMCCertificatePin  = "BMCCertificatePin"  // the certificate of the BMC was pinned
	EventClaimed            = "Claimed"            // the host serves a machine from now on
	EventReleased           = "Released"           // the host is free again
	EventOperationStarted   = "OperationStarted"   // a reboot or repave began
	EventAttemptFailed      = "AttemptFailed"      // one attempt of an operation failed; another follows
	EventOperationSucceeded = "OperationSucceeded" // the outcome was proven
	EventOperationFailed    = "OperationFailed"    // all attempts failed, or the operation was cancelled because its claim ended
	EventCertificateIssued  = "CertificateIssued"  // the agent of the host got a certificate
	EventCertificateRefused = "CertificateRefused" // a certificate was asked for that the host must not have
	EventOrderRefused       = "OrderRefused"       // a plan was asked for by a wrong, used or outdated order
	EventNoHost             = "NoHost"             // no host can serve the machine
	EventUpdateStarted      = "UpdateStarted"      // the machine has its slot: cordon, drain, boot
	EventDrainFailed        = "DrainFailed"        // pods could not be moved away; tried again
	EventUpdateSucceeded    = "UpdateSucceeded"    // the machine runs the wanted image, proven
	EventRolledBack         = "RolledBack"         // the image did not come up; the host went back by itself
	EventUpdateFailed       = "UpdateFailed"       // the image could not be staged or did not come up
	EventMachineCreated     = "MachineCreated"     // the pool made a machine
	EventMachineDeleted     = "MachineDeleted"     // the pool deleted a machine
	EventRolloutStarted     = "RolloutStarted"     // the pool has another target
	EventRolloutFinished    = "RolloutFinished"    // all members run the target
	EventRolloutHalted      = "RolloutHalted"      // too many members failed; no new slots
)
