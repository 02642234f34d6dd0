// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

var resetTypes = []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"}

func (s *Server) reset(w http.ResponseWriter, r *http.Request) {
	var request struct{ ResetType string }
	switch err := json.NewDecoder(r.Body).Decode(&request); {
	case err != nil:
		fail(w, http.StatusBadRequest, malformedJSON)
		return
	case request.ResetType == "":
		fail(w, http.StatusBadRequest, parameterMissing)
		return
	case !slices.Contains(resetTypes, request.ResetType):
		fail(w, http.StatusBadRequest, parameterValue)
		return
	}
	if s.faults.is(&s.faults.ignoreResets) {
		s.record(request.ResetType, Ignored)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if refusal := s.begin(request.ResetType); refusal != nil {
		s.record(request.ResetType, Refused)
		fail(w, http.StatusConflict, *refusal)
		return
	}
	s.record(request.ResetType, Applied)
	if s.options.ResetDelay == 0 {
		s.apply(request.ResetType)
	}
	w.WriteHeader(http.StatusNoContent)
}

// begin refuses what the power state forbids and starts the delay. Only one reset is under way at a time.
func (s *Server) begin(resetType string) *message {
	power := s.options.Machine.Power()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != nil {
		return &resetUnderWay
	}
	if on := power != PowerOff; on == (resetType == "On") {
		return &wrongPowerState
	}
	if s.options.ResetDelay > 0 {
		s.pending = time.AfterFunc(s.options.ResetDelay, func() { s.apply(resetType) })
	}
	return nil
}

// apply carries a reset to the machine.
func (s *Server) apply(resetType string) {
	switch resetType {
	case "On":
		s.options.Machine.PowerOn(s.TakeBoot())
	case "ForceOff":
		s.options.Machine.ForceOff()
	case "GracefulShutdown":
		s.options.Machine.Shutdown()
	case "ForceRestart":
		s.options.Machine.ForceOff()
		s.options.Machine.PowerOn(s.TakeBoot())
	}
	s.mu.Lock()
	s.pending = nil
	s.mu.Unlock()
}
