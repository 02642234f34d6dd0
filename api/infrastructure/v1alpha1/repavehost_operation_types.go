// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OperationKind says what an operation does.
// +kubebuilder:validation:Enum=Reboot;Repave
type OperationKind string

// The kinds of operations.
const (
	OperationReboot OperationKind = "Reboot"
	OperationRepave OperationKind = "Repave"
)

// OperationMethod says by which way an operation is done.
// +kubebuilder:validation:Enum=Power;Netboot
type OperationMethod string

// The ways of operations.
const (
	// MethodPower: off and on by the BMC.
	MethodPower OperationMethod = "Power"
	// MethodNetboot: off, boot from the network, install, boot from disk.
	MethodNetboot OperationMethod = "Netboot"
)

// OperationStep is how far an operation has gone. Steps only move forward within one attempt, and each is saved before its
// act, so that a restart knows what may already have been done.
// +kubebuilder:validation:Enum=Preparing;ShuttingDown;ForcingOff;SettingBoot;PoweringOn;Installing;Proving;GaveUp
type OperationStep string

// The steps of operations, in order.
const (
	StepPreparing    OperationStep = "Preparing"    // nothing touched yet; the netboot image is being fetched
	StepShuttingDown OperationStep = "ShuttingDown" // a graceful shutdown is asked for
	StepForcingOff   OperationStep = "ForcingOff"   // the power is cut
	StepSettingBoot  OperationStep = "SettingBoot"  // the next boot is pointed at the network
	StepPoweringOn   OperationStep = "PoweringOn"   // the power is switched on
	StepInstalling   OperationStep = "Installing"   // the host is expected to take its order and write its disk
	StepProving      OperationStep = "Proving"      // the next boot must prove the outcome
	StepGaveUp       OperationStep = "GaveUp"       // all attempts failed; a higher counter starts over
)

// Operation is an intent: saved before the act, gone when the outcome is proven.
type Operation struct {
	// id of the operation, unique for the host.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ID string `json:"id,omitempty"`

	// kind of the operation.
	// +required
	Kind OperationKind `json:"kind,omitempty"`

	// method by which it is done.
	// +required
	Method OperationMethod `json:"method,omitempty"`

	// counter is the value acknowledged when the outcome is proven; 0 where no counter asked (first install of a claim).
	// +optional
	Counter int64 `json:"counter,omitempty"`

	// digest of the netboot image that this operation installs.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`

	// step that was begun last.
	// +required
	Step OperationStep `json:"step,omitempty"`

	// attempt counts from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt,omitempty"`

	// tries counts how often the command of this step was given.
	// +optional
	Tries int32 `json:"tries,omitempty"`

	// bootID is the boot that ran when the operation began; the proof is another one.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	BootID string `json:"bootID,omitempty"`

	// startedAt is when the operation was opened.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`

	// stepAt is when the step was begun.
	// +required
	StepAt metav1.Time `json:"stepAt,omitzero"`

	// deadline of the attempt.
	// +required
	Deadline metav1.Time `json:"deadline,omitzero"`

	// message says why the last attempt failed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// OperationOutcome is how an operation ended.
// +kubebuilder:validation:Enum=Succeeded;Failed;Cancelled
type OperationOutcome string

// The outcomes of operations.
const (
	OutcomeSucceeded OperationOutcome = "Succeeded"
	OutcomeFailed    OperationOutcome = "Failed"
	OutcomeCancelled OperationOutcome = "Cancelled"
)

// OperationRecord is one line of a host's history.
type OperationRecord struct {
	// id of the operation.
	// +required
	ID string `json:"id,omitempty"`
	// kind of the operation.
	// +required
	Kind OperationKind `json:"kind,omitempty"`
	// why it was begun: Counter or Claim.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Why string `json:"why,omitempty"`
	// outcome of the operation.
	// +required
	Outcome OperationOutcome `json:"outcome,omitempty"`
	// attempts that it took.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// startedAt is when it was opened.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
	// duration from opening to proof, in whole seconds.
	// +optional
	DurationSeconds int64 `json:"durationSeconds,omitempty"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
