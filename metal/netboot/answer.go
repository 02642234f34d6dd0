// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// answered is an error that says itself how a request ends. Its text is for the host: it names no secret and nothing that a
// stranger should not know.
type answered struct {
	status int
	text   string
	again  time.Duration
}

func (a *answered) Error() string { return a.text }

func answer(status int, text string) error { return &answered{status: status, text: text} }

// notYet asks the host to come back.
func notYet(text string) error {
	return &answered{status: http.StatusServiceUnavailable, text: text, again: pollAgain}
}

// fail ends a request with an error: a refusal, an answer, or trouble of ours, which is logged and not shown.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, at route, err error) {
	log := ctrl.LoggerFrom(r.Context()).WithValues("verb", at.verb)
	if refused, ok := errors.AsType[*refusal](err); ok {
		s.refuse(r.Context(), w, at, refused)
		return
	}
	ended, ok := errors.AsType[*answered](err)
	if !ok {
		// The names of a path are a stranger's text until an order was verified; errors of the API name the host anyway.
		log.Error(err, "Answering a host")
		ended = &answered{status: http.StatusServiceUnavailable, text: "try again", again: pollAgain}
	}
	if ended.again > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(ended.again.Seconds())))
	}
	text(w, ended.status, ended.text+"\n")
}

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// The host went away: nobody is left to be told.
	_, _ = io.WriteString(w, body)
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

// readJSON reads the one value of a body. Unknown fields are let through: an installer may be newer than its server.
func readJSON(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return answer(http.StatusRequestEntityTooLarge, fmt.Sprintf("a body has at most %d bytes", maxBodyBytes))
	}
	if err != nil {
		return answer(http.StatusBadRequest, "the body ended early")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return answer(http.StatusBadRequest, "the body is not the JSON value that the verb takes")
	}
	return nil
}

// only refuses other methods than those of a verb.
func only(w http.ResponseWriter, r *http.Request, methods ...string) error {
	for _, method := range methods {
		if r.Method == method {
			return nil
		}
	}
	for _, method := range methods {
		w.Header().Add("Allow", method)
	}
	return answer(http.StatusMethodNotAllowed, "method not allowed")
}
