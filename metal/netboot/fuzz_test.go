// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// fuzzSite is a server over an API in memory with one host whose order may install.
func fuzzSite(f *testing.F) (*Server, *infrav1.RepaveHost) {
	f.Helper()
	host := &infrav1.RepaveHost{}
	host.Namespace, host.Name, host.UID = "ns", "h1", "uid-1"
	host.Spec.RootDevice = &infrav1.RootDevice{SerialNumber: "d"}
	host.Status.Operation = &infrav1.Operation{
		ID: "op", Kind: infrav1.OperationRepave, Method: infrav1.MethodNetboot, Step: infrav1.StepInstalling, Attempt: 1, Digest: digestOf(ref),
	}
	host.Status.Netboot = &infrav1.NetbootStatus{RedeemedOrder: "op.1", Failure: &infrav1.InstallFailure{Order: "op.1", Reason: infrav1.ReasonWrongHost}}
	memory := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(host).WithStatusSubresource(host).Build()
	recorder := events.NewFakeRecorder(0)
	recorder.Events = nil
	s, err := New(Options{
		BaseURL: "http://netboot", APIServer: orderv1.APIServer{URL: "https://api"}, Key: siteKey,
		Store: store, Client: memory, APIReader: memory, Recorder: recorder,
	})
	if err != nil {
		f.Fatal(err)
	}
	return s, host
}

// Whatever the path, a stranger gets no more than a refusal and the files of images.
func FuzzPaths(f *testing.F) {
	s, _ := fuzzSite(f)
	for _, seed := range []string{
		"/", "//", "/v1/orders/ns/h1/op.1/-/boot", "/v1/orders/ns/h1/op.1/%2f/plan", "/v1/orders/../images", "/v1/images/%2e%2e/x",
		"/v1/orders/%00/h1/op.1/x/boot", "/v1/images/" + digestOf(ref) + "/boot/disk.img", strings.Repeat("/a", 5000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			request := httptest.NewRequest(method, "http://netboot/", nil)
			request.URL = &url.URL{Path: path, RawPath: path}
			response := httptest.NewRecorder()
			s.ServeHTTP(response, request)
			at, ok := parseRoute(request.URL.EscapedPath())
			if response.Code == http.StatusOK && (!ok || at.verb != verbImage) || response.Code >= 500 {
				t.Fatalf("%s %q got %d", method, path, response.Code)
			}
		}
	})
}

// Whatever the body, the holder of an order gets an answer that is not our trouble.
func FuzzBodies(f *testing.F) {
	s, host := fuzzSite(f)
	failure := orderv1.Path("ns", "h1", "op.1", siteKey.Token(string(host.UID), "op.1"), orderv1.VerbFailure)
	certificate := orderv1.Path("ns", "h1", "op.1", "-", orderv1.VerbCertificate)
	for _, seed := range []string{"", "{}", "null", `{"reason":"WrongHost","message":"\u0000"}`, `{"csr":"LS0tLS0="}`, `{"csr":[1]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{failure, certificate} {
			request := httptest.NewRequest(http.MethodPost, "http://netboot"+path, bytes.NewReader(body))
			request.Header.Set("Authorization", "Bearer "+siteKey.Credential(string(host.UID), "op.1"))
			response := httptest.NewRecorder()
			s.ServeHTTP(response, request)
			if response.Code == http.StatusOK || response.Code >= 500 || response.Code == http.StatusForbidden {
				t.Fatalf("%q got %d %s", body, response.Code, response.Body)
			}
		}
	})
}

// A path that we make is one that we read.
func FuzzImagePaths(f *testing.F) {
	f.Add("boot/disk.img")
	f.Add("a b/%2f?#ü")
	f.Fuzz(func(t *testing.T, path string) {
		at, ok := parseRoute(imagePath("sha256:d", path))
		if ok && strings.Trim(path, "/") == path && !strings.Contains(path, "//") && at.path != path {
			t.Fatalf("%q became %q", path, at.path)
		}
	})
}
