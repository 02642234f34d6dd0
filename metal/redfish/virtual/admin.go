// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"sort"
)

// Admin is a small HTTP API with which a person plays with the faults of running servers, by name:
//
//	GET  /servers                      all names with address, power, open sessions, requests, resets and active faults
//	POST /servers/{name}/faults/{fault}?on=true|false
//
// It asks for no credentials: serve it on a loopback address only.
func Admin(servers map[string]*Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /servers", func(w http.ResponseWriter, _ *http.Request) {
		names := make([]string, 0, len(servers))
		for name := range servers {
			names = append(names, name)
		}
		sort.Strings(names)
		list := []resource{}
		for _, name := range names {
			list = append(list, servers[name].summary(name))
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	mux.HandleFunc("POST /servers/{name}/faults/{fault}", func(w http.ResponseWriter, r *http.Request) {
		server, ok := servers[r.PathValue("name")]
		if !ok {
			http.Error(w, "no such server", http.StatusNotFound)
			return
		}
		if err := server.Faults().Set(r.PathValue("fault"), r.URL.Query().Get("on") != "false"); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (s *Server) summary(name string) resource {
	return resource{
		"name":        name,
		"address":     s.URL(),
		"fingerprint": s.Fingerprint(),
		"power":       s.options.Machine.Power(),
		"sessions":    s.Sessions(),
		"requests":    s.Requests(),
		"resets":      len(s.Resets()),
		"faults":      s.Faults().Active(),
	}
}

func firstIP(certificate *tls.Certificate) net.IP {
	if leaf := certificate.Leaf; leaf != nil && len(leaf.IPAddresses) > 0 {
		return leaf.IPAddresses[0]
	}
	return nil
}
