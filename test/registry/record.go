// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/http/httptest"
)

// record answers a client's request from a handler in the same process.
func record(handler http.Handler, req *http.Request) *http.Response {
	// A client request may have no body and no host header; a handler is promised both.
	in := req.Clone(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.Host == "" {
		in.Host = in.URL.Host
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, in)
	response := recorder.Result()
	response.Request = req
	return response
}
