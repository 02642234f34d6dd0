// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repave-io/cluster-api-provider-repave/agent"
	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// claimed is the join of the stories.
var claimed = goal.Join{Secret: "join", ProviderID: "repave://ns/h1/m1", NodeName: "h1"}

// onDisk reads what an agent wrote, without being one.
type onDisk string

func (d onDisk) Exists(name string) bool {
	_, err := os.Stat(filepath.Join(string(d), name))
	return err == nil
}

func (onDisk) WriteFile(string, []byte, fs.FileMode) error { return fs.ErrPermission }

func config(change func(*orderv1.AgentConfig)) []byte {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c := orderv1.AgentConfig{
		Version: orderv1.AgentConfigVersion, Host: orderv1.Host{Namespace: "ns", Name: "h1"},
		APIServer: orderv1.APIServer{URL: "https://10.0.0.1:6443", CA: ca},
		Enrolment: &orderv1.Enrolment{URL: "http://10.0.0.2/v1", Credential: credential},
	}
	change(&c)
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return raw
}

func TestParseConfig(t *testing.T) {
	for name, change := range map[string]func(*orderv1.AgentConfig){
		"another version":        func(c *orderv1.AgentConfig) { c.Version = "v0" },
		"no host":                func(c *orderv1.AgentConfig) { c.Host.Name = "" },
		"no namespace":           func(c *orderv1.AgentConfig) { c.Host.Namespace = "" },
		"plain http":             func(c *orderv1.AgentConfig) { c.APIServer.URL = "http://10.0.0.1" },
		"no server":              func(c *orderv1.AgentConfig) { c.APIServer.URL = "" },
		"no CA":                  func(c *orderv1.AgentConfig) { c.APIServer.CA = []byte("x") },
		"half an enrolment":      func(c *orderv1.AgentConfig) { c.Enrolment.URL = "" },
		"the other half of it":   func(c *orderv1.AgentConfig) { c.Enrolment.Credential = "" },
		"a URL that is not one":  func(c *orderv1.AgentConfig) { c.APIServer.URL = "https://%zz" },
		"a URL without a server": func(c *orderv1.AgentConfig) { c.APIServer.URL = "https:///x" },
	} {
		if _, err := agent.ParseConfig(config(change)); err == nil || strings.Contains(err.Error(), credential) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, change := range map[string]func(*orderv1.AgentConfig){
		"whole":            func(*orderv1.AgentConfig) {},
		"enrolled already": func(c *orderv1.AgentConfig) { c.Enrolment = nil },
	} {
		if _, err := agent.ParseConfig(config(change)); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := agent.ParseConfig([]byte("{" + credential)); err == nil || strings.Contains(err.Error(), credential) {
		t.Errorf("not JSON: got %v", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(config(func(*orderv1.AgentConfig) {}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := agent.ParseConfig(raw)
		if err == nil && (c.Host.Name == "" || c.Host.Namespace == "" || !strings.HasPrefix(strings.ToLower(c.APIServer.URL), "https://")) {
			t.Errorf("accepted %+v", c.Host)
		}
	})
}
