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
	"sync"

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
	mu           sync.Mutex
	settings     map[string]roleSettings
}

// roleSettings are what a role runs with, so that it can be started once more in the same way.
type roleSettings struct {
	args   []string
	health string // host:port
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
	r := &Repave{controlPlane: c, NetbootURL: fmt.Sprintf("http://127.0.0.1:%d", port), settings: map[string]roleSettings{}}
	for _, role := range []struct {
		name string
		args []string
	}{
		{"infrastructure", []string{
			"--netboot-url=" + r.NetbootURL,
			"--netboot-user=system:serviceaccount:repave-system:repave-netboot",
			"--order-key-secret=repave-system/repave-order-key",
		}},
		{"bootstrap", nil},
		{"netboot", []string{
			"--netboot-url=" + r.NetbootURL,
			fmt.Sprintf("--netboot-listen=127.0.0.1:%d", port),
			"--image-dir=" + filepath.Join(c.Dir(), "images"),
			"--agent-api-server=" + c.Server(),
			"--order-key-secret=repave-system/repave-order-key",
		}},
	} {
		if r.settings[role.name], err = c.settle(ctx, role.name, append(role.args, extra...)); err != nil {
			return nil, err
		}
		if err := r.start(ctx, role.name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Restart starts a role once more with the same settings, and returns when it is ready. One that still runs is killed, without
// a chance to tidy up. The log of the run before stays beside the new one.
func (r *Repave) Restart(ctx context.Context, role string) error {
	r.mu.Lock()
	before := r.process(role)
	r.mu.Unlock()
	if before == nil {
		return fmt.Errorf("restarting %s: there is no such role", role)
	}
	(*before).Kill()
	if err := os.Rename((*before).LogFile(), fmt.Sprintf("%s-%d.log", strings.TrimSuffix((*before).LogFile(), ".log"), (*before).PID())); err != nil {
		return fmt.Errorf("keeping the log of %s: %w", role, err)
	}
	return r.start(ctx, role)
}

// process is where the process of a role is kept; nil where there is no such role.
func (r *Repave) process(role string) **Process {
	return map[string]**Process{"infrastructure": &r.Infrastructure, "bootstrap": &r.Bootstrap, "netboot": &r.Netboot}[role]
}

// Processes gives the processes of the provider.
func (r *Repave) Processes() []*Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []*Process{r.Infrastructure, r.Bootstrap, r.Netboot}
}

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

// settle decides the ports of a role and gets it its permissions.
func (c *ControlPlane) settle(ctx context.Context, role string, extra []string) (roleSettings, error) {
	kubeconfig, err := c.accountKubeconfig(ctx, role)
	if err != nil {
		return roleSettings{}, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return roleSettings{}, err
	}
	health := fmt.Sprintf("127.0.0.1:%d", ports[0])
	return roleSettings{health: health, args: append([]string{
		"--roles=" + role,
		"--kubeconfig=" + kubeconfig,
		"--health-addr=" + health,
		fmt.Sprintf("--diagnostics-address=127.0.0.1:%d", ports[1]),
		"--insecure-diagnostics",
	}, extra...)}, nil
}

// start runs a role with its settings until it is ready.
func (r *Repave) start(ctx context.Context, role string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	name, settings := "repave-"+role, r.settings[role]
	process, err := r.controlPlane.Start(ctx, name, filepath.Join(root, "bin", "repave"), settings.args, nil)
	if err != nil {
		return err
	}
	r.mu.Lock()
	*r.process(role) = process
	r.mu.Unlock()
	if err := process.Await(ctx, Answers("http://"+settings.health+"/readyz")); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	return nil
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
