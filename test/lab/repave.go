// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// Repave is the running provider: one process for each role, each with the permissions of its own ServiceAccount and no
// other, as the released manifests give them.
type Repave struct {
	NetbootURL     string
	Infrastructure *Process
	Bootstrap      *Process
	Netboot        *Process

	controlPlane *ControlPlane
}

// roleAccounts are the ServiceAccounts of the released manifests.
var roleAccounts = map[string][2]string{
	"infrastructure": {"repave-system", "repave-infrastructure"},
	"netboot":        {"repave-system", "repave-netboot"},
	"bootstrap":      {"repave-bootstrap-system", "repave-bootstrap"},
}

// StartRepave installs the released manifests, but for their Deployments, and starts bin/repave once for each role. Every
// extra argument goes to all of them.
func (c *ControlPlane) StartRepave(ctx context.Context, extra ...string) (*Repave, error) {
	if err := c.installComponents(ctx); err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	r := &Repave{controlPlane: c, NetbootURL: fmt.Sprintf("http://127.0.0.1:%d", port)}
	if r.Infrastructure, err = c.startRole(ctx, "infrastructure", append([]string{
		"--netboot-url=" + r.NetbootURL,
		"--netboot-user=system:serviceaccount:repave-system:repave-netboot",
		"--order-key-secret=repave-system/repave-order-key",
	}, extra...)); err != nil {
		return nil, err
	}
	if r.Bootstrap, err = c.startRole(ctx, "bootstrap", extra); err != nil {
		return nil, err
	}
	r.Netboot, err = c.startRole(ctx, "netboot", append([]string{
		"--netboot-url=" + r.NetbootURL,
		fmt.Sprintf("--netboot-listen=127.0.0.1:%d", port),
		"--image-dir=" + filepath.Join(c.Dir(), "images"),
		"--agent-api-server=" + c.Server(),
		"--order-key-secret=repave-system/repave-order-key",
	}, extra...))
	return r, err
}

// Processes gives the processes of the provider.
func (r *Repave) Processes() []*Process { return []*Process{r.Infrastructure, r.Bootstrap, r.Netboot} }

// installComponents renders what a release ships and applies all of it but the Deployments: nothing here runs pods.
func (c *ControlPlane) installComponents(ctx context.Context) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	kustomize, err := c.options.binary("kustomize")
	if err != nil {
		return err
	}
	for _, kind := range []string{"infrastructure", "bootstrap"} {
		manifest, err := output(ctx, root, kustomize, "build", "--load-restrictor", "LoadRestrictionsNone", filepath.Join("config", "default", kind))
		if err != nil {
			return fmt.Errorf("rendering the %s components: %w", kind, err)
		}
		if err := c.applyAll(ctx, manifest, func(o *unstructured.Unstructured) bool { return o.GetKind() != "Deployment" }); err != nil {
			return fmt.Errorf("installing the %s components: %w", kind, err)
		}
	}
	return nil
}

func (c *ControlPlane) startRole(ctx context.Context, role string, extra []string) (*Process, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.accountKubeconfig(ctx, role)
	if err != nil {
		return nil, err
	}
	health, err := FreePort()
	if err != nil {
		return nil, err
	}
	diagnostics, err := FreePort()
	if err != nil {
		return nil, err
	}
	name := "repave-" + role
	process, err := c.Start(ctx, name, filepath.Join(root, "bin", "repave"), append([]string{
		"--roles=" + role,
		"--kubeconfig=" + kubeconfig,
		fmt.Sprintf("--health-addr=127.0.0.1:%d", health),
		fmt.Sprintf("--diagnostics-address=127.0.0.1:%d", diagnostics),
		"--insecure-diagnostics",
	}, extra...), nil)
	if err != nil {
		return nil, err
	}
	if err := process.Await(ctx, Answers(fmt.Sprintf("http://127.0.0.1:%d/readyz", health))); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return process, nil
}

// accountKubeconfig writes a kubeconfig that holds nothing but a token of the role's ServiceAccount.
func (c *ControlPlane) accountKubeconfig(ctx context.Context, role string) (string, error) {
	account := roleAccounts[role]
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return "", fmt.Errorf("asking for a token of %s: %w", account[1], err)
	}
	token, err := client.CoreV1().ServiceAccounts(account[0]).CreateToken(ctx, account[1], &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("asking for a token of %s: %w", account[1], err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: c.CA()}
	config.AuthInfos[role] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: role}
	config.CurrentContext = "lab"
	path := filepath.Join(c.Dir(), "repave-"+role+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("writing the kubeconfig of %s: %w", account[1], err)
	}
	return path, nil
}

// Render fills a template of the project as a user would: with the real clusterctl and variables from the environment.
func (c *ControlPlane) Render(ctx context.Context, template string, variables map[string]string) ([]byte, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	clusterctl, err := c.options.binary("clusterctl")
	if err != nil {
		return nil, err
	}
	var env []string
	for key, value := range variables {
		env = append(env, key+"="+value)
	}
	env = append(env, "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+c.Dir(), "GOPROXY=off")
	manifest, err := outputWith(ctx, root, env, clusterctl, "generate", "yaml", "--from", template)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", template, err)
	}
	return manifest, nil
}

func (c *ControlPlane) applyAll(ctx context.Context, manifest []byte, keep func(*unstructured.Unstructured) bool) error {
	objects, err := decode(manifest)
	if err != nil {
		return err
	}
	var kept, crds bytes.Buffer
	var established []*unstructured.Unstructured
	for _, object := range objects {
		if !keep(object) {
			continue
		}
		raw, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", object.GetName(), err)
		}
		target := &kept
		if isCRD(object) {
			target, established = &crds, append(established, object)
		}
		target.WriteString("---\n")
		target.Write(raw)
	}
	if err := c.Apply(ctx, crds.Bytes()); err != nil {
		return err
	}
	if err := c.awaitEstablished(ctx, established); err != nil {
		return err
	}
	return c.Apply(ctx, kept.Bytes())
}

func output(ctx context.Context, dir, path string, args ...string) ([]byte, error) {
	return outputWith(ctx, dir, nil, path, args...)
}

func outputWith(ctx context.Context, dir string, env []string, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
