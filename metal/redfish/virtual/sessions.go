// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

type session struct {
	id   string
	used time.Time
}

// authorised says whether the request carries a live session or the account by Basic authentication.
func (s *Server) authorised(r *http.Request) bool {
	if s.faults.is(&s.faults.deny) {
		return false
	}
	if token := r.Header.Get("X-Auth-Token"); token != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.expire(time.Now())
		live, ok := s.sessions[token]
		if ok {
			live.used = time.Now()
		}
		return ok
	}
	username, password, ok := r.BasicAuth()
	return ok && s.account(username, password)
}

func (s *Server) account(username, password string) bool {
	right := subtle.ConstantTimeCompare([]byte(username), []byte(s.options.Username))
	return right&subtle.ConstantTimeCompare([]byte(password), []byte(s.options.Password)) == 1
}

// expire forgets sessions not used in time; s.mu is held.
func (s *Server) expire(now time.Time) {
	if s.options.SessionTimeout == 0 {
		return
	}
	for token, live := range s.sessions {
		if now.Sub(live.used) > s.options.SessionTimeout {
			delete(s.sessions, token)
		}
	}
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	var login struct{ UserName, Password string }
	if err := json.NewDecoder(r.Body).Decode(&login); err != nil {
		fail(w, http.StatusBadRequest, malformedJSON)
		return
	}
	if s.faults.is(&s.faults.deny) || !s.account(login.UserName, login.Password) {
		fail(w, http.StatusUnauthorized, invalidAccount)
		return
	}
	token := rand.Text()
	s.mu.Lock()
	s.expire(time.Now())
	full := len(s.sessions) >= s.options.MaxSessions
	var id string
	if !full {
		s.lastID++
		id = strconv.Itoa(s.lastID)
		s.sessions[token] = &session{id: id, used: time.Now()}
	}
	s.mu.Unlock()
	if full {
		fail(w, http.StatusServiceUnavailable, sessionLimit)
		return
	}
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", sessionsPath+"/"+id)
	answer(w, http.StatusCreated, s.sessionResource(id))
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, live := range s.sessions {
		if live.id == r.PathValue("id") {
			delete(s.sessions, token)
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	fail(w, http.StatusNotFound, resourceMissing)
}

func (s *Server) sessionResource(id string) resource {
	return resource{
		"@odata.id":   sessionsPath + "/" + id,
		"@odata.type": "#Session.v1_7_0.Session",
		"Id":          id,
		"Name":        "User Session",
		"UserName":    s.options.Username,
	}
}

func (s *Server) listSessions(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	var members []string
	for _, live := range s.sessions {
		members = append(members, sessionsPath+"/"+live.id)
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, collection(sessionsPath, "Session", members...))
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	found := false
	for _, live := range s.sessions {
		found = found || live.id == r.PathValue("id")
	}
	s.mu.Unlock()
	if !found {
		fail(w, http.StatusNotFound, resourceMissing)
		return
	}
	answer(w, http.StatusOK, s.sessionResource(r.PathValue("id")))
}
