// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/schemas"

	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

const username, password = "admin", "virtual-Passw0rd"

func start(t *testing.T, change ...func(*virtual.Options)) (*virtual.Server, *virtual.Memory) {
	t.Helper()
	machine := &virtual.Memory{}
	options := virtual.Options{Username: username, Password: password, Machine: machine}
	for _, f := range change {
		f(&options)
	}
	server, err := virtual.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server, machine
}

// TestGofish drives the service with a client we did not write.
func TestGofish(t *testing.T) {
	g := NewWithT(t)
	server, machine := start(t)
	client, err := gofish.ConnectContext(t.Context(), gofish.ClientConfig{
		Endpoint: server.URL(), Username: username, Password: password, Insecure: true,
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.Sessions()).To(Equal(1))

	systems, err := client.Service.Systems()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(systems).To(HaveLen(1))
	system := systems[0]
	g.Expect(system.Manufacturer).To(Equal("Repave"))
	g.Expect(system.PowerState).To(Equal(schemas.OffPowerState))
	types, err := system.GetSupportedResetTypes()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(types).To(ContainElements(schemas.OnResetType, schemas.ForceOffResetType))

	uri := "http://10.0.0.1/boot"
	g.Expect(system.SetBoot(&schemas.Boot{
		BootSourceOverrideTarget:  schemas.UefiHTTPBootSource,
		BootSourceOverrideEnabled: schemas.OnceBootSourceOverrideEnabled,
		HTTPBootURI:               &uri,
	})).To(Succeed())
	system, err = schemas.GetComputerSystem(client, system.ODataID)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(system.Boot.BootSourceOverrideEnabled).To(Equal(schemas.OnceBootSourceOverrideEnabled))
	_, err = system.Reset(schemas.OnResetType)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(machine.Boots()).To(Equal([]virtual.BootRequest{{Target: "UefiHttp", URL: uri}}))

	system, err = schemas.GetComputerSystem(client, system.ODataID)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(system.PowerState).To(Equal(schemas.OnPowerState))
	g.Expect(system.Boot.BootSourceOverrideEnabled).To(Equal(schemas.DisabledBootSourceOverrideEnabled))

	_, err = system.Reset(schemas.ForceRestartResetType)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(machine.Boots()).To(HaveLen(2))
	g.Expect(machine.Boots()[1]).To(Equal(virtual.BootRequest{}), "the override was for one boot")

	managers, err := client.Service.Managers()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(managers).To(HaveLen(1))
	chassis, err := client.Service.Chassis()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chassis).To(HaveLen(1))
	client.Logout()
	g.Expect(server.Sessions()).To(BeZero())
}

func TestGofishSeesRefusals(t *testing.T) {
	g := NewWithT(t)
	server, _ := start(t)
	config := gofish.ClientConfig{Endpoint: server.URL(), Username: username, Password: "wrong", Insecure: true}
	_, err := gofish.ConnectContext(t.Context(), config)
	g.Expect(err).To(HaveOccurred())

	config.Password = password
	client, err := gofish.ConnectContext(t.Context(), config)
	g.Expect(err).NotTo(HaveOccurred())
	systems, err := client.Service.Systems()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = systems[0].Reset(schemas.ForceOffResetType)
	var refused *schemas.Error
	g.Expect(err).To(BeAssignableToTypeOf(refused))
	refused = err.(*schemas.Error)
	g.Expect(refused.HTTPReturnedStatusCode).To(Equal(http.StatusConflict))
	g.Expect(refused.ExtendedInfos).To(HaveLen(1))
	g.Expect(server.Resets()).To(BeEmpty())
	g.Expect(server.Journal()).To(HaveLen(1))
	g.Expect(server.Journal()[0].Result).To(Equal(virtual.Refused))
}

func TestResetDelay(t *testing.T) {
	g := NewWithT(t)
	server, machine := start(t, func(o *virtual.Options) { o.ResetDelay = 50 * time.Millisecond })
	status, _ := call(t, server, "POST", "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", `{"ResetType":"On"}`)
	g.Expect(status).To(Equal(http.StatusNoContent))
	g.Expect(machine.Power()).To(Equal(virtual.PowerOff))
	status, body := call(t, server, "POST", "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", `{"ResetType":"On"}`)
	g.Expect(status).To(Equal(http.StatusConflict))
	g.Expect(body).To(ContainSubstring("ResourceInUse"))
	g.Eventually(machine.Power).WithTimeout(5 * time.Second).Should(Equal(virtual.PowerOn))
	g.Expect(machine.Boots()).To(HaveLen(1))
}

func TestAnswers(t *testing.T) {
	server, _ := start(t, func(o *virtual.Options) { o.NoHTTPBoot = true })
	const system = "/redfish/v1/Systems/1"
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"root with a slash", "GET", "/redfish/v1/", "", 200, "#ServiceRoot"},
		{"versions", "GET", "/redfish", "", 200, "/redfish/v1/"},
		{"session service", "GET", "/redfish/v1/SessionService", "", 200, "SessionTimeout"},
		{"nothing there", "GET", "/redfish/v1/Fabrics", "", 404, "ResourceMissingAtURI"},
		{"read only", "DELETE", "/redfish/v1/Managers", "", 405, "OperationNotAllowed"},
		{"no JSON", "PATCH", system, "{", 400, "MalformedJSON"},
		{"unknown property", "PATCH", system, `{"Name":"x"}`, 400, "PropertyUnknown"},
		{"unknown boot property", "PATCH", system, `{"Boot":{"HttpBootUri":"http://x"}}`, 400, "PropertyUnknown"},
		{"unknown target", "PATCH", system, `{"Boot":{"BootSourceOverrideTarget":"UefiHttp"}}`, 400, "PropertyValueNotInList"},
		{"wrong type", "PATCH", system, `{"Boot":{"BootSourceOverrideTarget":1}}`, 400, "PropertyValueTypeError"},
		{"unknown reset", "POST", system + "/Actions/ComputerSystem.Reset", `{"ResetType":"Nmi"}`, 400, "ActionParameterValueNotInList"},
		{"empty reset", "POST", system + "/Actions/ComputerSystem.Reset", `{}`, 400, "ActionParameterMissing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := call(t, server, tc.method, tc.path, tc.body)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
}

func TestStaleETagIsRefused(t *testing.T) {
	g := NewWithT(t)
	server, _ := start(t)
	const system = "/redfish/v1/Systems/1"
	patch := `{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once"}}`
	request := newRequest(t, server, "PATCH", system, patch)
	request.Header.Set("If-Match", `"0000"`)
	status, _ := do(t, request)
	g.Expect(status).To(Equal(http.StatusPreconditionFailed))
	status, body := call(t, server, "PATCH", system, patch)
	g.Expect(status).To(Equal(http.StatusOK))
	g.Expect(body).To(ContainSubstring(`"BootSourceOverrideTarget":"Pxe"`))
}

func TestSessionsTimeOut(t *testing.T) {
	g := NewWithT(t)
	server, _ := start(t, func(o *virtual.Options) { o.SessionTimeout = 20 * time.Millisecond })
	status, _ := call(t, server, "POST", "/redfish/v1/SessionService/Sessions", `{"UserName":"admin","Password":"`+password+`"}`)
	g.Expect(status).To(Equal(http.StatusCreated))
	g.Eventually(server.Sessions).WithTimeout(5 * time.Second).Should(BeZero())
}

func TestAdmin(t *testing.T) {
	g := NewWithT(t)
	server, _ := start(t)
	admin := virtual.Admin(map[string]*virtual.Server{"server-01": server})
	post := func(path string) int {
		answer := httptest.NewRecorder()
		admin.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
		return answer.Code
	}
	g.Expect(post("/servers/server-01/faults/refuse")).To(Equal(http.StatusNoContent))
	status, _ := call(t, server, "GET", "/redfish/v1/", "")
	g.Expect(status).To(Equal(http.StatusServiceUnavailable))
	g.Expect(post("/servers/server-01/faults/explode")).To(Equal(http.StatusBadRequest))
	g.Expect(post("/servers/server-02/faults/refuse")).To(Equal(http.StatusNotFound))

	answer := httptest.NewRecorder()
	admin.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/servers", nil))
	var list []struct {
		Name, Address string
		Faults        []string
	}
	g.Expect(json.Unmarshal(answer.Body.Bytes(), &list)).To(Succeed())
	g.Expect(list).To(HaveLen(1))
	g.Expect(list[0].Address).To(Equal(server.URL()))
	g.Expect(list[0].Faults).To(Equal([]string{"refuse"}))
	g.Expect(post("/servers/server-01/faults/refuse?on=false")).To(Equal(http.StatusNoContent))
	g.Expect(server.Faults().Active()).To(BeEmpty())
}

func TestEveryFaultCanBeSwitchedByName(t *testing.T) {
	g := NewWithT(t)
	server, _ := start(t)
	before := server.Fingerprint()
	for _, name := range virtual.FaultNames() {
		g.Expect(server.Faults().Set(name, true)).To(Succeed())
	}
	g.Expect(server.Faults().Active()).To(Equal([]string{"deny", "hang", "ignore-boot", "ignore-resets", "refuse"}))
	g.Expect(server.Fingerprint()).NotTo(Equal(before))
	for _, name := range virtual.FaultNames() {
		g.Expect(server.Faults().Set(name, false)).To(Succeed())
	}
	g.Expect(server.Faults().Active()).To(BeEmpty())
	status, _ := call(t, server, "GET", "/redfish/v1/Systems/1", "")
	g.Expect(status).To(Equal(http.StatusOK))
}

// TestTakeBoot is the restart of a machine by its own operating system.
func TestTakeBoot(t *testing.T) {
	g := NewWithT(t)
	server, _ := start(t)
	g.Expect(server.TakeBoot()).To(Equal(virtual.BootRequest{}))
	for enabled, second := range map[string]virtual.BootRequest{"Once": {}, "Continuous": {Target: "Pxe"}} {
		status, _ := call(t, server, "PATCH", "/redfish/v1/Systems/1",
			`{"Boot":{"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"`+enabled+`"}}`)
		g.Expect(status).To(Equal(http.StatusOK))
		g.Expect(server.TakeBoot()).To(Equal(virtual.BootRequest{Target: "Pxe"}))
		g.Expect(server.TakeBoot()).To(Equal(second), enabled)
	}
}

func newRequest(t *testing.T, server *virtual.Server, method, path, body string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(username, password)
	return request
}

func call(t *testing.T, server *virtual.Server, method, path, body string) (int, string) {
	t.Helper()
	return do(t, newRequest(t, server, method, path, body))
}

func do(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the certificate is no subject of these tests
		DisableKeepAlives: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}
