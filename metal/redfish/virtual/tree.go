// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"net/http"
	"strings"
)

const (
	rootPath     = "/redfish/v1"
	sessionsPath = rootPath + "/SessionService/Sessions"
	systemsPath  = rootPath + "/Systems"
	managersPath = rootPath + "/Managers"
	chassisPath  = rootPath + "/Chassis"
)

// open are the resources DSP0266 lets anybody read.
var open = map[string]bool{"/redfish": true, rootPath: true, rootPath + "/odata": true}

func (s *Server) systemPath() string { return systemsPath + "/" + s.options.SystemID }

// handler puts counting, faults and authorisation before the resources.
func (s *Server) handler() http.Handler {
	resources := s.resources()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		at := s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		for most := s.mostAtOnce.Load(); at > most && !s.mostAtOnce.CompareAndSwap(most, at); most = s.mostAtOnce.Load() {
		}
		if hang := s.faults.hang(); hang != nil {
			select {
			case <-hang:
			case <-r.Context().Done():
				return
			case <-s.closed:
				return
			}
		}
		if s.faults.is(&s.faults.refuse) {
			fail(w, http.StatusServiceUnavailable, unavailable)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		r.URL.Path = "/" + strings.Trim(r.URL.Path, "/")
		login := r.Method == http.MethodPost && r.URL.Path == sessionsPath && !s.options.BasicOnly
		if !login && !open[r.URL.Path] && !s.authorised(r) {
			fail(w, http.StatusUnauthorized, invalidAccount)
			return
		}
		resources.ServeHTTP(w, r)
	})
}

func (s *Server) resources() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, document func() resource) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, document()) })
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { fail(w, http.StatusMethodNotAllowed, notAllowed) })
	}
	get("/redfish", func() resource { return resource{"v1": rootPath + "/"} })
	get(rootPath, s.root)
	get(systemsPath, func() resource { return collection(systemsPath, "ComputerSystem", s.systemPath()) })
	get(managersPath, func() resource { return collection(managersPath, "Manager", managersPath+"/1") })
	get(managersPath+"/1", s.manager)
	get(chassisPath, func() resource { return collection(chassisPath, "Chassis", chassisPath+"/1") })
	get(chassisPath+"/1", s.chassis)
	if !s.options.BasicOnly {
		get(rootPath+"/SessionService", s.sessionService)
		mux.HandleFunc("GET "+sessionsPath, s.listSessions)
		mux.HandleFunc("POST "+sessionsPath, s.login)
		mux.HandleFunc("GET "+sessionsPath+"/{id}", s.getSession)
		mux.HandleFunc("DELETE "+sessionsPath+"/{id}", s.logout)
	}
	mux.HandleFunc("GET "+s.systemPath(), s.getSystem)
	mux.HandleFunc("PATCH "+s.systemPath(), s.patchSystem)
	mux.HandleFunc("POST "+s.systemPath()+"/Actions/ComputerSystem.Reset", s.reset)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, resourceMissing) })
	return mux
}

func (s *Server) root() resource {
	root := resource{
		"@odata.id":      rootPath,
		"@odata.type":    "#ServiceRoot.v1_17_0.ServiceRoot",
		"Id":             "RootService",
		"Name":           "Root Service",
		"RedfishVersion": "1.20.1",
		"UUID":           s.options.UUID,
		"Vendor":         s.options.Manufacturer,
		"Product":        "Virtual BMC",
		"Systems":        link(systemsPath),
		"Managers":       link(managersPath),
		"Chassis":        link(chassisPath),
		"Links":          resource{},
	}
	if !s.options.BasicOnly {
		root["SessionService"] = link(rootPath + "/SessionService")
		root["Links"] = resource{"Sessions": link(sessionsPath)}
	}
	return root
}

func (s *Server) sessionService() resource {
	return resource{
		"@odata.id":      rootPath + "/SessionService",
		"@odata.type":    "#SessionService.v1_1_9.SessionService",
		"Id":             "SessionService",
		"Name":           "Session Service",
		"ServiceEnabled": true,
		"SessionTimeout": int(max(s.options.SessionTimeout.Seconds(), 30)),
		"Sessions":       link(sessionsPath),
	}
}

func (s *Server) manager() resource {
	return resource{
		"@odata.id":       managersPath + "/1",
		"@odata.type":     "#Manager.v1_20_0.Manager",
		"Id":              "1",
		"Name":            "Virtual BMC",
		"ManagerType":     "BMC",
		"FirmwareVersion": "1.0.0-virtual",
		"Status":          resource{"State": "Enabled", "Health": "OK"},
		"Links":           resource{"ManagerForServers": links(s.systemPath())},
	}
}

func (s *Server) chassis() resource {
	return resource{
		"@odata.id":    chassisPath + "/1",
		"@odata.type":  "#Chassis.v1_25_0.Chassis",
		"Id":           "1",
		"Name":         "Chassis",
		"ChassisType":  "RackMount",
		"Manufacturer": s.options.Manufacturer,
		"SerialNumber": s.options.Serial,
		"Links":        resource{"ComputerSystems": links(s.systemPath()), "ManagedBy": links(managersPath + "/1")},
	}
}
