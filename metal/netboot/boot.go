// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"net/http"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// boot answers what to boot now.
func (s *Server) boot(w http.ResponseWriter, r *http.Request, at route) error {
	if err := only(w, r, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	host, err := s.admit(r.Context(), at, at.token, s.Key.VerifyToken)
	if err != nil {
		return err
	}
	decided := decide(host, at.order)
	script, err := s.script(host, at.order, decided)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		s.recordBoot(r, host, at.order)
	}
	ctrl.LoggerFrom(r.Context()).V(2).Info("Answering a boot", "RepaveHost", klog.KObj(host), "order", at.order, "answer", decided)
	text(w, http.StatusOK, script)
	return nil
}

func (s *Server) script(host *infrav1.RepaveHost, order string, decided lifecycle.BootAnswer) (string, error) {
	switch decided {
	case lifecycle.LocalDisk:
		return localDiskScript, nil
	case lifecycle.Installer:
		operation := openOperation(host)
		if operation == nil {
			return "", refusedFor(refusedNotExpected, host)
		}
		image, ok := s.Store.Lookup(operation.Digest)
		if !ok {
			return "", notYet("the image is not here yet")
		}
		return installerScript(s.urls, image, s.urls.PlanURL(host.Namespace, host.Name, string(host.UID), order))
	default:
		return "", answer(http.StatusNotFound, "nothing to boot")
	}
}

// recordBoot notes for people that the host came. The host does not wait for that to succeed: nothing is decided by it that
// the plan would not decide again.
func (s *Server) recordBoot(r *http.Request, host *infrav1.RepaveHost, order string) {
	err := s.change(r.Context(), host, func(host *infrav1.RepaveHost) (*infrav1.NetbootStatus, error) {
		status := netbootOf(host)
		if status.BootedOrder == order || currentOrder(host) != order {
			return nil, nil
		}
		status.BootedOrder = order
		return status, nil
	})
	if err != nil {
		ctrl.LoggerFrom(r.Context()).Error(err, "Recording a boot", "RepaveHost", klog.KObj(host), "order", order)
	}
}
