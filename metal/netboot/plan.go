// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"net/http"

	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// plan hands out the plan of an order, at most once. The order is marked as redeemed with an optimistic lock before the
// answer leaves: of two requests at the same time one wins, and a server that dies in between has handed out nothing. An
// answer that got lost on its way is lost; the next attempt has an order of its own.
func (s *Server) plan(w http.ResponseWriter, r *http.Request, at route) error {
	if err := only(w, r, http.MethodPost); err != nil {
		return err
	}
	host, err := s.admit(r.Context(), at, at.token, s.Key.VerifyToken)
	if err != nil {
		return err
	}
	var plan *orderv1.Plan
	err = s.change(r.Context(), host, func(host *infrav1.RepaveHost) (*infrav1.NetbootStatus, error) {
		if err := redeemable(host, at.order); err != nil {
			return nil, err
		}
		// Whatever can go wrong goes wrong before the order is used up.
		if plan, err = s.makePlan(host, at.order); err != nil {
			return nil, err
		}
		status := netbootOf(host)
		status.RedeemedOrder = at.order
		return status, nil
	})
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(r.Context()).V(2).Info("Handing out a plan", "RepaveHost", klog.KObj(host), "order", at.order, "image", plan.Image)
	return writeJSON(w, http.StatusOK, plan)
}

// redeemable refuses orders that may not install now, and says why. The installer of a paused host is asked to wait: the disk
// is still as it was.
func redeemable(host *infrav1.RepaveHost, order string) error {
	if redeemed(host, order) {
		return refusedFor(refusedRedeemed, host)
	}
	if err := current(host, order); err != nil {
		return err
	}
	if annotations.HasPaused(host) {
		return notYet("the host is paused")
	}
	if host.Spec.RootDevice == nil || decide(host, order) != lifecycle.Installer {
		return refusedFor(refusedNotExpected, host)
	}
	return nil
}

func (s *Server) makePlan(host *infrav1.RepaveHost, order string) (*orderv1.Plan, error) {
	digest := openOperation(host).Digest
	found, ok := s.Store.Lookup(digest)
	if !ok {
		return nil, notYet("the image is not here yet")
	}
	who := orderv1.Host{Namespace: host.Namespace, Name: host.Name}
	plan := &orderv1.Plan{
		Version:    orderv1.PlanVersion,
		Order:      order,
		Host:       who,
		RootDevice: orderv1.RootDevice(*host.Spec.RootDevice),
		Image:      digest,
		Disk:       s.disk(found),
		OSImage:    found.Metadata.OSImage,
		Agent: orderv1.AgentConfig{
			Version:   orderv1.AgentConfigVersion,
			Host:      who,
			APIServer: s.APIServer,
			Enrolment: &orderv1.Enrolment{
				URL:        s.urls.CertificateURL(host.Namespace, host.Name, order),
				Credential: s.Key.Credential(string(host.UID), order),
			},
			Install: orderv1.Install{Order: order, Digest: digest, OSImage: found.Metadata.OSImage},
		},
	}
	for _, card := range host.Spec.Interfaces {
		plan.Interfaces = append(plan.Interfaces, card.MAC)
	}
	return plan, nil
}

func (s *Server) disk(found image.Image) orderv1.Disk {
	file := found.Files[found.Metadata.Disk.Path]
	disk := orderv1.Disk{URL: s.urls.At(imagePath(found.Digest, file.Path)), SHA256: file.SHA256, Size: file.Size}
	if found.Metadata.Disk.Compression != image.None {
		disk.Compression = string(found.Metadata.Disk.Compression)
	}
	return disk
}
