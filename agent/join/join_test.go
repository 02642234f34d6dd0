// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	"github.com/repave-io/cluster-api-provider-repave/agent/host"
	"github.com/repave-io/cluster-api-provider-repave/agent/join"
	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

const token = "abcdef.0123456789abcdef"

type secrets map[string][]byte

func (s secrets) Secret(context.Context, string) (map[string][]byte, error) { return s, nil }

func data(change func(*bootstrapv1.AgentJoin)) secrets {
	var d bootstrapv1.AgentJoin
	d.Version, d.Token = bootstrapv1.AgentJoinVersion, token
	d.Cluster.Name, d.Cluster.Server, d.Cluster.CA = "prod", "https://10.0.0.1:6443", []byte("-----CA-----\n")
	d.NodeLabels = map[string]string{"zone": "a", "disk": "nvme"}
	d.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}, {Key: "new", Effect: corev1.TaintEffectNoExecute}}
	d.Files = []bootstrapv1.File{{Path: "/etc/motd", Content: "hello", Permissions: "0640"}}
	change(&d)
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return secrets{bootstrapv1.SecretKey: raw, bootstrapv1.SecretFormatKey: []byte("Agent")}
}

func write(t *testing.T, s secrets) (string, *join.Joiner, error) {
	t.Helper()
	dir := t.TempDir()
	h, err := host.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	j := &join.Joiner{Files: h, Secrets: s}
	return dir, j, j.Join(t.Context(), claim())
}

func claim() goal.Join {
	return goal.Join{Secret: "boot", ProviderID: "repave://ns/h1/m1", NodeName: "h1"}
}

func TestJoinWritesWhatAKubeletReads(t *testing.T) {
	dir, j, err := write(t, data(func(*bootstrapv1.AgentJoin) {}))
	if err != nil {
		t.Fatal(err)
	}
	if !j.Joined(claim()) {
		t.Error("written, and not there")
	}
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	config, err := clientcmd.Load([]byte(read(join.BootstrapPath)))
	if err != nil {
		t.Fatal(err)
	}
	rest, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if rest.Host != "https://10.0.0.1:6443" || rest.BearerToken != token || string(rest.CAData) != "-----CA-----\n" {
		t.Errorf("kubeconfig leads to %s with %q", rest.Host, rest.CAData)
	}
	if diff := cmp.Diff("-----CA-----\n", read(join.CAPath)); diff != "" {
		t.Error(diff)
	}
	var kubelet join.Kubelet
	if err := json.Unmarshal([]byte(read(join.KubeletPath)), &kubelet); err != nil {
		t.Fatal(err)
	}
	if kubelet.NodeName != "h1" || kubelet.ProviderID != "repave://ns/h1/m1" || kubelet.NodeLabels["disk"] != "nvme" || len(kubelet.Taints) != 2 {
		t.Errorf("got %+v", kubelet)
	}
	wantFlags := `REPAVE_KUBELET_ARGS="--hostname-override=h1 --provider-id=repave://ns/h1/m1 --node-labels=disk=nvme,zone=a ` +
		`--register-with-taints=gpu=yes:NoSchedule,new=:NoExecute --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf ` +
		`--kubeconfig=/etc/kubernetes/kubelet.conf"` + "\n"
	if diff := cmp.Diff(wantFlags, read(join.FlagsPath)); diff != "" {
		t.Error(diff)
	}
	for name, mode := range map[string]os.FileMode{join.BootstrapPath: 0o600, "etc/motd": 0o640} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for _, name := range []string{join.CAPath, join.KubeletPath, join.FlagsPath} {
		if strings.Contains(read(name), token) {
			t.Errorf("%s holds the token", name)
		}
	}
}

func TestJoinedAsksForEveryFile(t *testing.T) {
	dir, j, err := write(t, data(func(*bootstrapv1.AgentJoin) {}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{join.CAPath, join.KubeletPath, join.FlagsPath, join.BootstrapPath} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if j.Joined(claim()) {
			t.Errorf("joined without %s", name)
		}
		if err := j.Join(t.Context(), claim()); err != nil || !j.Joined(claim()) {
			t.Errorf("%s does not come back: %v", name, err)
		}
	}
}

func TestBadBootstrapDataIsRefused(t *testing.T) {
	with := func(key, value string) secrets {
		s := data(func(*bootstrapv1.AgentJoin) {})
		s[key] = []byte(value)
		return s
	}
	file := func(path, permissions string) secrets {
		return data(func(d *bootstrapv1.AgentJoin) {
			d.Files = []bootstrapv1.File{{Path: path, Content: "x", Permissions: permissions}}
		})
	}
	for name, s := range map[string]secrets{
		"no data":                {},
		"cloud-config":           with(bootstrapv1.SecretFormatKey, "cloud-config"),
		"not JSON":               with(bootstrapv1.SecretKey, "#!/bin/sh "+token),
		"another version":        data(func(d *bootstrapv1.AgentJoin) { d.Version = "v0" }),
		"no token":               data(func(d *bootstrapv1.AgentJoin) { d.Token = "" }),
		"no CA":                  data(func(d *bootstrapv1.AgentJoin) { d.Cluster.CA = nil }),
		"no server":              data(func(d *bootstrapv1.AgentJoin) { d.Cluster.Server = "" }),
		"a relative path":        file("etc/x", "0644"),
		"the agent's own folder": file("/etc/../etc/repave/pki/agent.pem", "0644"),
		"permissions":            file("/etc/x", "rw"),
	} {
		dir, j, err := write(t, s)
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: got %v", name, err)
		}
		if j.Joined(claim()) {
			t.Errorf("%s: joined in %s", name, dir)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(data(func(*bootstrapv1.AgentJoin) {})[bootstrapv1.SecretKey])
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := join.Parse(map[string][]byte{bootstrapv1.SecretKey: raw})
		if err == nil && (d.Token == "" || d.Cluster.Server == "" || len(d.Cluster.CA) == 0) {
			t.Error("accepted what no kubelet can join with")
		}
	})
}
