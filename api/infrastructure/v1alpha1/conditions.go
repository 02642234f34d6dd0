// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Types of conditions.
const (
	// ConditionReady: the object does what it is for. Its reason is the most telling of all.
	ConditionReady = "Ready"
	// ConditionPaused: the object or its Cluster is paused; nothing is done to it.
	ConditionPaused = "Paused"
	// ConditionBMCReachable: the BMC of the host answers, with the credentials and the certificate that are expected.
	ConditionBMCReachable = "BMCReachable"
	// ConditionProvisioned: the host runs what its claim installed.
	ConditionProvisioned = "Provisioned"
	// ConditionRepaved: the outcome of the last repave.
	ConditionRepaved = "Repaved"
	// ConditionAgentConnected: the agent of the host renews its Lease.
	ConditionAgentConnected = "AgentConnected"
	// ConditionIdle: the agent changes nothing at the moment.
	ConditionIdle = "Idle"
	// ConditionNodeUpdated: the outcome of the last in-place repave.
	ConditionNodeUpdated = "NodeUpdated"
	// ConditionDegraded: something is wrong that a person should know of. True is bad.
	ConditionDegraded = "Degraded"
	// ConditionHostClaimed: the machine has its host.
	ConditionHostClaimed = "HostClaimed"
	// ConditionUpToDate: the machine, or every member of the pool, runs the wanted image.
	ConditionUpToDate = "UpToDate"
	// ConditionDataSecretAvailable: the bootstrap data is there.
	ConditionDataSecretAvailable = "DataSecretAvailable"
)

// Reasons of BMCReachable; those of trouble are reasons of Ready as well.
const (
	ReasonReachable          = "Reachable"          // the BMC answers
	ReasonNotRead            = "NotRead"            // the BMC has not been read yet
	ReasonNoBMC              = "NoBMC"              // the host has no BMC: no power control, in-place repaves only
	ReasonUnreachable        = "Unreachable"        // the BMC does not answer; it is tried again with growing pauses
	ReasonCredentialsMissing = "CredentialsMissing" // the Secret named by credentialsRef is missing or lacks username or password
	ReasonSecretForbidden    = "SecretForbidden"    // the controller may not read Secrets in this namespace; bind its Secret role there
	ReasonCredentialsInvalid = "CredentialsInvalid" // the BMC refuses username and password
	ReasonCertificateChanged = "CertificateChanged" // the BMC shows another certificate than the pinned one; re-pin it if that was expected
	ReasonBMCUnsupported     = "BMCUnsupported"     // the BMC cannot do what is asked
	ReasonBMCError           = "BMCError"           // the BMC answers with errors
)

// Reasons of Provisioned and, while not ready, of Ready.
const (
	ReasonProvisioned       = "Provisioned"       // the install of the claim is proven
	ReasonUnclaimed         = "Unclaimed"         // no machine has claimed the host
	ReasonAvailable         = "Available"         // seen and free
	ReasonWaitingForData    = "WaitingForData"    // the claim has not said yet what to install or how to join
	ReasonInstalling        = "Installing"        // an install runs
	ReasonReleasing         = "Releasing"         // the claim ends: the host is powered off
	ReasonReleaseBlocked    = "ReleaseBlocked"    // the host cannot be powered off; see AnnotationForceRelease
	ReasonDeleting          = "Deleting"          // the object is being deleted
	ReasonStillClaimed      = "StillClaimed"      // the host is being deleted but still serves a machine; delete that first
	ReasonRecordUnreadable  = "RecordUnreadable"  // the annotation repave.io/record cannot be read, so nothing is done to the host until a person has mended it
	ReasonRebooting         = "Rebooting"         // a reboot runs
	ReasonRepaving          = "Repaving"          // a repave runs
	ReasonServing           = "Serving"           // the host serves its machine
	ReasonPoweredOff        = "PoweredOff"        // the host is off, as spec.online asks
	ReasonRootDeviceMissing = "RootDeviceMissing" // rootDevice is not set, so no disk may be written
	ReasonNoPowerControl    = "NoPowerControl"    // the operation needs a BMC and the host has none
	ReasonNoNetbootImage    = "NoNetbootImage"    // a repave was asked for but no netboot image is named
	ReasonImageNotFound     = "ImageNotFound"     // the registry does not know the image
	ReasonImageUnauthorized = "ImageUnauthorized" // the registry refuses the pull credentials
	ReasonImagePullFailed   = "ImagePullFailed"   // the image could not be fetched; tried again
	ReasonImageInvalid      = "ImageInvalid"      // the image has no netboot layout
	ReasonDigestMismatch    = "DigestMismatch"    // the bytes are not those of the digest; nothing was used of them
	ReasonDiskNotFound      = "DiskNotFound"      // rootDevice matches no disk or several; nothing was written
	ReasonWrongHost         = "WrongHost"         // the order was fetched by a machine with other network cards; nothing was written
	ReasonInstallFailed     = "InstallFailed"     // the installer gave up
	ReasonTimedOut          = "TimedOut"          // an attempt passed its deadline
	ReasonAttemptsExhausted = "AttemptsExhausted" // all attempts failed; raise the counter to start over
	ReasonAgentLost         = "AgentLost"         // the agent of a provisioned host does not renew its Lease
	ReasonPaused            = "Paused"            // paused
	ReasonNotPaused         = "NotPaused"         // not paused
)

// Reasons of Repaved (fixed words).
const (
	ReasonRepavePending   = "Pending"   // a repave is open
	ReasonRepaveSucceeded = "Succeeded" // the last repave was proven by the boot after it
	ReasonRepaveFailed    = "Failed"    // the last repave failed
)

// Reasons of AgentConnected.
const (
	ReasonConnected      = "Connected"      // the Lease is fresh
	ReasonLeaseExpired   = "LeaseExpired"   // the Lease was not renewed in time
	ReasonNeverConnected = "NeverConnected" // no agent has reported yet
)

// Reasons of Idle (fixed words).
const (
	ReasonIdle           = "Idle"      // nothing to do
	ReasonStaging        = "Staging"   // an image is being brought onto the host
	ReasonStaged         = "Staged"    // an image waits to be booted
	ReasonAgentRebooting = "Rebooting" // the host boots into an image
)

// Reasons of NodeUpdated (fixed words).
const (
	ReasonUpdateInProgress = "InProgress" // an in-place repave is under way
	ReasonUpdateSucceeded  = "Succeeded"  // the wanted image runs
	ReasonUpdateFailed     = "Failed"     // the wanted image could not be staged or booted
	ReasonRolledBack       = "RolledBack" // the wanted image did not come up; the host went back
)

// Reasons of Degraded (fixed words).
const (
	ReasonError        = "Error"        // see the message
	ReasonHealthy      = "Healthy"      // nothing known to be wrong
	ReasonHostConflict = "HostConflict" // machines of the pool want more hosts than are free
	ReasonHostDegraded = "HostDegraded" // members are down or failed an image
	ReasonInvalidSpec  = "InvalidSpec"  // the spec asks for something that cannot be
)

// Reasons of machines: HostClaimed, UpToDate, Ready.
const (
	ReasonClaimed                  = "Claimed"                   // the machine has its host
	ReasonNoHostAvailable          = "NoHostAvailable"           // no free and healthy host matches
	ReasonHostLost                 = "HostLost"                  // the host of the machine is gone
	ReasonWaitingForCluster        = "WaitingForCluster"         // the infrastructure of the Cluster is not there yet
	ReasonWaitingForBootstrapData  = "WaitingForBootstrapData"   // the bootstrap data is not there yet
	ReasonWaitingForHost           = "WaitingForHost"            // the host is being installed
	ReasonWaitingForNode           = "WaitingForNode"            // the Node is not there or not ready yet
	ReasonWaitingForSlot           = "WaitingForSlot"            // staged; the pool has not granted a slot yet
	ReasonWaitingForRepave         = "WaitingForRepave"          // another netboot image is wanted; the next repave installs it
	ReasonDraining                 = "Draining"                  // pods are being moved away
	ReasonDrainBlocked             = "DrainBlocked"              // pods refuse to go; tried again
	ReasonBooting                  = "Booting"                   // the host boots into the image
	ReasonVerifying                = "Verifying"                 // the image runs, the Node must prove itself
	ReasonMachineUpToDate          = "UpToDate"                  // the wanted image runs and is proven
	ReasonWorkloadUnreachable      = "WorkloadUnreachable"       // the workload cluster cannot be reached
	ReasonStageFailed              = "StageFailed"               // the image could not be brought onto the host
	ReasonBootFailed               = "BootFailed"                // the image did not come up
	ReasonVerifyTimedOut           = "VerifyTimedOut"            // the host or its Node did not come back in time
	ReasonWaitingForControlPlane   = "WaitingForControlPlane"    // neither RepaveCluster nor Cluster has an endpoint yet
	ReasonControlPlaneEndpointKnow = "ControlPlaneEndpointKnown" // the endpoint is known
)

// Reasons of a pool's UpToDate (fixed words).
const (
	ReasonAllUpdated        = "AllUpdated"        // every member runs the target
	ReasonRolloutInProgress = "RolloutInProgress" // members are on their way
	ReasonRolloutPaused     = "Paused"            // spec.rollout.paused
	ReasonHalted            = "Halted"            // too many members failed; change the image or delete the failed machines
)

// Reasons of a pool's Ready.
const (
	ReasonAllReady    = "AllReady"    // every wanted member serves
	ReasonScaling     = "Scaling"     // members are being made or removed
	ReasonNotAllReady = "NotAllReady" // members are missing or down
)

// Reasons of DataSecretAvailable.
const (
	ReasonDataSecretAvailable = "Available"       // the Secret holds the data
	ReasonDataSecretPending   = "Pending"         // the data is being made
	ReasonJoinTokenFailed     = "JoinTokenFailed" // the join token could not be made in the workload cluster
	ReasonSecretNotOurs       = "SecretNotOurs"   // a Secret of that name belongs to somebody else; rename the config or remove the Secret
)
