// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clusterAPIModule is where Cluster API's CRDs come from: the module cache, at the version of go.mod.
const clusterAPIModule = "sigs.k8s.io/cluster-api"

// aggregatedRole collects what providers grant to Cluster API, as its own manifests do. The core manager of the lab is
// admin and does not need it; it is there so that a provider's labelled ClusterRoles can be seen to take effect.
const aggregatedRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: capi-aggregated-manager-role}
aggregationRule:
  clusterRoleSelectors:
  - matchLabels: {cluster.x-k8s.io/aggregate-to-manager: "true"}
`

// StartClusterAPI installs Cluster API's core CRDs and runs its core manager as a process with the admin's rights. No
// webhook is configured, so nothing defaults or validates Cluster API's objects beyond their OpenAPI schema: manifests name
// every field that matters. The manager's webhook port listens on all addresses, since Cluster API has no flag for that.
func (c *ControlPlane) StartClusterAPI(ctx context.Context) error {
	path, err := c.options.binary("capi-core-manager")
	if err != nil {
		return err
	}
	source, err := moduleDir(ctx, clusterAPIModule)
	if err != nil {
		return err
	}
	if err := c.InstallCRDs(ctx, filepath.Join(source, "core", "config", "crd", "bases")); err != nil {
		return err
	}
	if err := c.Apply(ctx, []byte(aggregatedRole)); err != nil {
		return err
	}
	certificates, err := c.webhookCertificates()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	for attempt := 1; ; attempt++ {
		p, err := c.tryClusterAPI(ctx, path, certificates)
		if err == nil {
			c.mu.Lock()
			c.core = p
			c.mu.Unlock()
			c.say("capi-core-manager is ready")
			return nil
		}
		if p == nil {
			return err
		}
		p.Kill()
		if attempt == portAttempts || !portTaken(p, err) {
			return err
		}
	}
}

// tryClusterAPI starts the core manager on free ports. With an error, a process that was started is returned too.
func (c *ControlPlane) tryClusterAPI(ctx context.Context, path, certificates string) (*Process, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	health, webhook := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	p, err := c.Start(ctx, "capi-core-manager", path, []string{
		"--health-addr=" + health,
		fmt.Sprintf("--webhook-port=%d", ports[1]), "--webhook-cert-dir=" + certificates,
		"--diagnostics-address=0",
		"--feature-gates=" + c.options.ClusterAPIFeatureGates,
	}, nil)
	if err != nil {
		return nil, err
	}
	ready := Answers("http://" + health + "/readyz")
	return p, p.Await(ctx, func(ctx context.Context) error {
		if err := ready(ctx); err != nil {
			return err
		}
		// Plain HTTP cannot tell this lab's manager from a stranger; the certificate of the webhook port can.
		dialer := &tls.Dialer{Config: c.credentials.cluster.tlsConfig()}
		connection, err := dialer.DialContext(ctx, "tcp", webhook)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// webhookCertificates puts the serving certificate where the core manager looks for it.
func (c *ControlPlane) webhookCertificates() (string, error) {
	dir := c.dir.join("pki", "webhook")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making certificate folder: %w", err)
	}
	for from, to := range map[string]string{"serving.crt": "tls.crt", "serving.key": "tls.key"} {
		content, err := os.ReadFile(c.pki(from))
		if err != nil {
			return "", fmt.Errorf("reading serving certificate: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), content, 0o600); err != nil {
			return "", fmt.Errorf("writing serving certificate: %w", err)
		}
	}
	return dir, nil
}

// moduleDir is a module's folder in the module cache, at the version of this module's go.mod.
func moduleDir(ctx context.Context, module string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w", module, err)
	}
	var complaint bytes.Buffer
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir, list.Stderr = root, &complaint
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w: %s", module, err, strings.TrimSpace(complaint.String()))
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", errors.New("finding module " + module + ": not in the module cache: run go mod download")
	}
	return dir, nil
}
