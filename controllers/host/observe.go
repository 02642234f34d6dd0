// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

// observed is what one look at a host has seen.
type observed struct {
	view       lifecycle.View
	identity   redfish.Identity
	expires    time.Duration // until the Lease of the agent runs out; 0: it has, or there is none
	unreadable error         // the record cannot be read
	barred     error         // the agent could not be let in
}

func (r *Reconciler) observe(ctx context.Context, host *infrav1.RepaveHost) (observed, error) {
	var seen observed
	record, err := lifecycle.Restore(host.Annotations[infrav1.AnnotationRecord], host.Status)
	if err != nil {
		seen.unreadable = err
		return seen, nil
	}
	_, forced := host.Annotations[infrav1.AnnotationForceRelease]
	_, repin := host.Annotations[infrav1.AnnotationRepinBMC]
	seen.view = lifecycle.View{
		Now: r.Now(), Limits: r.Limits, FreshID: r.FreshID(),
		Deleting: !host.DeletionTimestamp.IsZero(), ForceRelease: forced, Repin: repin,
		Spec: wanted(host), Record: record, Netboot: served(host),
	}
	if err := r.observeAgent(ctx, host, &seen); err != nil {
		return observed{}, err
	}
	if err := r.observeBMC(ctx, host, &seen); err != nil {
		return observed{}, err
	}
	return seen, nil
}

func wanted(host *infrav1.RepaveHost) lifecycle.Spec {
	spec := lifecycle.Spec{
		HasBMC: host.Spec.BMC != nil, HasRootDevice: host.Spec.RootDevice != nil, Online: ptr.Deref(host.Spec.Online, true),
		Desired: host.Spec.Desired, Counters: host.Spec.Operations,
	}
	if host.Spec.ClaimRef != nil {
		spec.Claim = host.Spec.ClaimRef.Name
	}
	return spec
}

func served(host *infrav1.RepaveHost) lifecycle.Netboot {
	status := host.Status.Netboot
	if status == nil {
		return lifecycle.Netboot{}
	}
	return lifecycle.Netboot{Image: status.Image, RedeemedOrder: status.RedeemedOrder, Failure: ptr.Deref(status.Failure, infrav1.InstallFailure{})}
}

func (r *Reconciler) observeAgent(ctx context.Context, host *infrav1.RepaveHost, seen *observed) error {
	if status := host.Status.Agent; status != nil {
		seen.view.Agent = lifecycle.Agent{
			Known: status.BootID != "", BootID: status.BootID, NodeName: status.NodeName, Install: ptr.Deref(status.Install, infrav1.InstallMark{}),
		}
	}
	lease := &coordinationv1.Lease{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: host.Namespace, Name: infrav1.LeaseName(host.Name)}, lease)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Lease: %w", err)
	}
	if at := renewed(lease); err == nil && at != nil {
		seen.expires = max(0, r.heard(client.ObjectKeyFromObject(host), *at).Add(r.Limits.Lease).Sub(seen.view.Now))
		seen.view.Agent.Connected = seen.expires > 0 && seen.view.Agent.Known
	}
	return nil
}

// observeBMC reads what is known of the BMC, after it was made known with the credentials of now.
func (r *Reconciler) observeBMC(ctx context.Context, host *infrav1.RepaveHost, seen *observed) error {
	key := Key(host)
	if host.Spec.BMC == nil {
		r.BMCs.Forget(key)
		return nil
	}
	pinned := host.Spec.BMC.TLS.Mode == infrav1.TLSPinOnFirstUse || host.Spec.BMC.TLS.Mode == ""
	bmc := &seen.view.BMC
	reading, known := r.BMCs.Reading(key)
	endpoint, refused := r.endpoint(ctx, host, known && reading.Err == nil, seen.view.Now)
	switch {
	case refused == nil:
	case refused.trouble != nil:
		return refused.trouble // of the API server: it says nothing about the BMC
	default:
		bmc.Trouble, bmc.Message = refused.reason, refused.message
		return nil
	}
	if pinned {
		endpoint.Fingerprint = seen.view.Record.Fingerprint
	}
	r.BMCs.Connect(key, endpoint)
	if reading, known = r.BMCs.Reading(key); !known {
		return nil
	}
	seen.identity = reading.Identity
	*bmc = readBMC(reading)
	if pinned && reading.Err == nil && !reading.At.IsZero() {
		bmc.Fingerprint = reading.Fingerprint
	}
	return nil
}

// readBMC puts a reading into the words of the lifecycle.
func readBMC(reading redfish.Reading) lifecycle.BMC {
	bmc := lifecycle.BMC{
		At: reading.At, Power: infrav1.PowerState(reading.State.Power),
		CanShutDown: slices.Contains(reading.Identity.ResetTypes, string(redfish.GracefulShutdown)),
		Busy:        reading.Running != nil && reading.Running.Verb != redfish.Refresh,
	}
	if bmc.Power == "" {
		bmc.Power = infrav1.PowerUnknown
	}
	if reading.Err != nil {
		bmc.Trouble, bmc.Message = reasonOf(reading.Err.Class), reading.Err.Error()
	}
	if last := reading.Last; last != nil {
		bmc.Last = lifecycle.Outcome{ID: last.ID, At: last.At}
		if last.Err != nil {
			var known *redfish.Error
			bmc.Last.Failed, bmc.Last.Message = true, last.Err.Error()
			bmc.Last.Unsupported = errors.As(last.Err, &known) && known.Class == redfish.Unsupported
		}
	}
	return bmc
}

func reasonOf(class redfish.Class) string {
	switch class {
	case redfish.Unreachable:
		return infrav1.ReasonUnreachable
	case redfish.Auth:
		return infrav1.ReasonCredentialsInvalid
	case redfish.Certificate:
		return infrav1.ReasonCertificateChanged
	case redfish.Unsupported:
		return infrav1.ReasonBMCUnsupported
	default:
		return infrav1.ReasonBMCError
	}
}
