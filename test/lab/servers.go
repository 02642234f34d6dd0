// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
)

// serverSpec is how one of the control plane's servers is started and known to be ready.
type serverSpec struct {
	name  string
	args  func(port string) []string
	probe func(port string) func(context.Context) error
}

// startServer starts a server on a free port and waits until it answers. It returns the port.
func (c *ControlPlane) startServer(ctx context.Context, spec serverSpec) (string, error) {
	path, err := c.options.binary(spec.name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	for attempt := 1; ; attempt++ {
		number, err := FreePort()
		if err != nil {
			return "", err
		}
		port := strconv.Itoa(number)
		p, err := run(spec.name, path, c.logFile(spec.name), spec.args(port), nil)
		if err != nil {
			return "", err
		}
		err = p.Await(ctx, spec.probe(port))
		if err == nil {
			c.mu.Lock()
			c.servers = append(c.servers, p)
			c.mu.Unlock()
			c.say("%s answers on port %s", spec.name, port)
			return port, nil
		}
		p.Kill()
		if attempt == portAttempts || !portTaken(p, err) {
			return "", err
		}
	}
}

// startEtcd starts the store and returns its address. The state needs no care beyond the lab's life: hence no fsync.
func (c *ControlPlane) startEtcd(ctx context.Context) (string, error) {
	data := c.dir.join("etcd")
	if err := os.RemoveAll(data); err != nil {
		return "", fmt.Errorf("wiping etcd data: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(c.pki("etcd-client.crt"), c.pki("etcd-client.key"))
	if err != nil {
		return "", fmt.Errorf("loading etcd client certificate: %w", err)
	}
	// The peer port is never used; etcd insists on one, and the kernel chooses it.
	const peer = "http://127.0.0.1:0"
	port, err := c.startServer(ctx, serverSpec{
		name: "etcd",
		args: func(port string) []string {
			return []string{
				"--data-dir=" + data,
				"--unsafe-no-fsync",
				"--logger=zap", "--log-level=warn",
				"--listen-client-urls=https://127.0.0.1:" + port, "--advertise-client-urls=https://127.0.0.1:" + port,
				"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
				"--client-cert-auth", "--trusted-ca-file=" + c.pki("etcd-ca.crt"),
				"--cert-file=" + c.pki("etcd.crt"), "--key-file=" + c.pki("etcd.key"),
			}
		},
		probe: func(port string) func(context.Context) error {
			return answers(c.credentials.store.client(certificate), "https://127.0.0.1:"+port+"/health")
		},
	})
	return "https://127.0.0.1:" + port, err
}

// startAPIServer starts kube-apiserver on the store and returns its address.
func (c *ControlPlane) startAPIServer(ctx context.Context, store string) (string, error) {
	port, err := c.startServer(ctx, serverSpec{
		name: "kube-apiserver",
		args: func(port string) []string { return c.apiServerArgs(store, port) },
		probe: func(port string) func(context.Context) error {
			return answers(c.credentials.cluster.client(), "https://127.0.0.1:"+port+"/readyz")
		},
	})
	return "https://127.0.0.1:" + port, err
}

func (c *ControlPlane) apiServerArgs(store, port string) []string {
	args := []string{
		"--etcd-servers=" + store, "--etcd-cafile=" + c.pki("etcd-ca.crt"),
		"--etcd-certfile=" + c.pki("etcd-client.crt"), "--etcd-keyfile=" + c.pki("etcd-client.key"),
		"--bind-address=127.0.0.1", "--secure-port=" + port,
		// The endpoints of the "kubernetes" Service may not hold a loopback address; nobody here goes through that Service.
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged",
		"--tls-cert-file=" + c.pki("serving.crt"), "--tls-private-key-file=" + c.pki("serving.key"),
		"--client-ca-file=" + c.pki("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth",
		// Webhooks are dialled at the addresses of their EndpointSlices: there is no kube-proxy to reach a Service.
		"--enable-aggregator-routing=true",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki("sa.crt"), "--service-account-signing-key-file=" + c.pki("sa.key"),
	}
	if !c.options.ControllerManager {
		// Nobody makes the default ServiceAccounts then, and pods would be refused for the lack of them.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	return args
}

// startControllerManager starts kube-controller-manager with every controller that joins hosts, and waits until it serves
// the first thing of its own: a ServiceAccount in the default namespace.
func (c *ControlPlane) startControllerManager(ctx context.Context) error {
	kubeconfig, err := c.writeKubeconfig("kcm", c.credentials.manager)
	if err != nil {
		return err
	}
	_, err = c.startServer(ctx, serverSpec{
		name: "kube-controller-manager",
		args: func(port string) []string {
			return []string{
				"--bind-address=127.0.0.1", "--secure-port=" + port,
				"--tls-cert-file=" + c.pki("serving.crt"), "--tls-private-key-file=" + c.pki("serving.key"),
				"--kubeconfig=" + kubeconfig,
				"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
				"--service-account-private-key-file=" + c.pki("sa.key"), "--root-ca-file=" + c.pki("ca.crt"),
				"--cluster-signing-cert-file=" + c.pki("ca.crt"), "--cluster-signing-key-file=" + c.pki("ca.key"),
				"--use-service-account-credentials",
				"--controllers=*,bootstrapsigner,tokencleaner",
				"--leader-elect=false",
				"--kube-api-qps=500", "--kube-api-burst=1000",
			}
		},
		probe: func(port string) func(context.Context) error {
			healthy := answers(c.credentials.cluster.client(), "https://127.0.0.1:"+port+"/healthz")
			return func(ctx context.Context) error {
				if err := healthy(ctx); err != nil {
					return err
				}
				return c.defaultServiceAccount(ctx)
			}
		},
	})
	return err
}

func (c *ControlPlane) pki(file string) string { return c.dir.join("pki", file) }
