// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// failureReasons are what an installer may say.
var failureReasons = []string{infrav1.ReasonDigestMismatch, infrav1.ReasonDiskNotFound, infrav1.ReasonWrongHost, infrav1.ReasonInstallFailed}

// failure keeps the installer's last word on the current order. The first word counts; a repetition changes nothing.
func (s *Server) failure(w http.ResponseWriter, r *http.Request, at route) error {
	if err := only(w, r, http.MethodPost); err != nil {
		return err
	}
	host, err := s.admit(r.Context(), at, at.token, s.Key.VerifyToken)
	if err != nil {
		return err
	}
	var said orderv1.Failure
	if err := readJSON(r, &said); err != nil {
		return err
	}
	if !slices.Contains(failureReasons, said.Reason) {
		return answer(http.StatusBadRequest, "reason must be one of "+strings.Join(failureReasons, ", "))
	}
	uid := string(host.UID)
	message := printable(said.Message, s.Key.Token(uid, at.order), s.Key.Credential(uid, at.order))
	err = s.change(r.Context(), host, func(host *infrav1.RepaveHost) (*infrav1.NetbootStatus, error) {
		if err := current(host, at.order); err != nil {
			return nil, err
		}
		status := netbootOf(host)
		if status.Failure != nil && status.Failure.Order == at.order {
			return nil, nil
		}
		status.Failure = &infrav1.InstallFailure{Order: at.order, Reason: said.Reason, Message: message}
		return status, nil
	})
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(r.Context()).V(2).Info("Keeping an installer's failure", "RepaveHost", klog.KObj(host), "order", at.order, "reason", said.Reason)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// printable makes a host's text fit for a condition: one line of valid UTF-8, at most maxMessageBytes long, without the
// secrets of its order. An installer that could not fetch something tends to quote the URL.
func printable(message string, secrets ...string) string {
	for _, secret := range secrets {
		message = strings.ReplaceAll(message, secret, "[redacted]")
	}
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, "?"))
	return clip(strings.TrimSpace(message))
}

// clip cuts a text to maxMessageBytes, between characters.
func clip(message string) string {
	if len(message) <= maxMessageBytes {
		return message
	}
	end := maxMessageBytes
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end]
}
