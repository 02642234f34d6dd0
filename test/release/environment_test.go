// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/repave-io/cluster-api-provider-repave/test/lab"
)

const (
	root        = "../.."
	version     = "v0.1.0"
	coreVersion = "v1.14.2"
	// deadline bounds one call of clusterctl, on a busy machine.
	deadline = 3 * time.Minute
)

// place is the scratch folder: the repository, and clusterctl's own files.
var place string

var shared = lab.NewShared(lab.Options{ControllerManager: true}, install)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if place, err = os.MkdirTemp("", "repave-release-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(place) }()
	if err := render(); err != nil {
		fmt.Fprintln(os.Stderr, "rendering the release:", err)
		return 1
	}
	return shared.Main(m)
}

// render makes the repository, with Cluster API's core from its module beside our own providers.
func render() error {
	repository := filepath.Join(place, "repository")
	if _, err := execute(nil, filepath.Join(root, "hack", "release.sh"), version, repository); err != nil {
		return err
	}
	source, err := execute(nil, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	if err != nil {
		return err
	}
	module := strings.TrimSpace(string(source))
	components, err := execute(nil, filepath.Join(root, "bin", "kustomize"), "build", "--load-restrictor", "LoadRestrictionsNone", filepath.Join(module, "core", "config", "default"))
	if err != nil {
		return err
	}
	metadata, err := os.ReadFile(filepath.Join(module, "metadata.yaml"))
	if err != nil {
		return err
	}
	core := filepath.Join(repository, "cluster-api", coreVersion)
	return errors.Join(
		os.MkdirAll(core, 0o755),
		os.WriteFile(filepath.Join(core, "core-components.yaml"), components, 0o644),
		os.WriteFile(filepath.Join(core, "metadata.yaml"), metadata, 0o644),
		os.WriteFile(filepath.Join(place, "clusterctl.yaml"), fmt.Appendf(nil, `providers:
- {name: cluster-api, type: CoreProvider, url: "%[1]s/cluster-api/%[2]s/core-components.yaml"}
- {name: repave, type: InfrastructureProvider, url: "%[1]s/infrastructure-repave/%[3]s/infrastructure-components.yaml"}
- {name: repave, type: BootstrapProvider, url: "%[1]s/bootstrap-repave/%[3]s/bootstrap-components.yaml"}
cert-manager:
  externallyProvisioned: "true"
`, repository, coreVersion, version), 0o644),
	)
}

// install is what a user does on a management cluster. No variable is set, so Cluster API's Runtime SDK is off.
func install(c *lab.ControlPlane, ctx context.Context) error {
	stubs, err := os.ReadFile("testdata/cert-manager-crds.yaml")
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, stubs); err != nil {
		return err
	}
	began := time.Now()
	_, err = clusterctl(nil, "init", "--kubeconfig", c.Kubeconfig(),
		"--core", "cluster-api", "--infrastructure", "repave", "--bootstrap", "repave", "--control-plane", "-", "--validate=true")
	fmt.Printf("clusterctl init took %.1f s\n", time.Since(began).Seconds())
	return err
}

// clusterctl runs the real one with nothing in its environment but the variables. Whatever it would ask the network fails
// at once, at a proxy that is not there.
func clusterctl(variables map[string]string, args ...string) ([]byte, error) {
	env := []string{
		"HOME=" + place, "XDG_CONFIG_HOME=" + place, "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off",
		"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1",
	}
	for name, value := range variables {
		env = append(env, name+"="+value)
	}
	return execute(env, filepath.Join(root, "bin", "clusterctl"), append(args, "--config", filepath.Join(place, "clusterctl.yaml"))...)
}

// execute gives what a program writes; its error ends with what the program complained about. No env is our own.
func execute(env []string, path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var complaint bytes.Buffer
	cmd.Env, cmd.Stderr = env, &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running %s %s: %w: %s", filepath.Base(path), strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}

// connect gives an admin's client of the control plane on which everything is installed.
func connect(t *testing.T) (*lab.ControlPlane, client.Client) {
	t.Helper()
	c := shared.ControlPlane(t)
	admin, err := client.New(c.RESTConfig(), client.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c, admin
}

// objects takes a manifest apart.
func objects(t *testing.T, manifest []byte) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return found
		}
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}
