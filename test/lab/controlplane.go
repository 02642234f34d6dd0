// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// startDeadline bounds each single wait for a server, generous because other jobs may share the cores.
	startDeadline = 2 * time.Minute
	// stopDeadline bounds a whole Stop; what still runs then is killed.
	stopDeadline = 45 * time.Second
)

// ControlPlane is a running lab. Its methods may be called from several goroutines.
type ControlPlane struct {
	options     Options
	dir         *directory
	credentials *credentials
	server      string
	kubeconfig  string
	client      client.Client
	began       time.Time

	mu      sync.Mutex
	servers []*Process // in the order of their start
	guests  []*Process // what was started on top of the servers
	core    *Process   // Cluster API, one of the guests
	stopped bool
}

// StartControlPlane starts etcd, kube-apiserver and, if asked for, kube-controller-manager, and returns when they answer and
// the CRDs of the options are served. ctx bounds the start only: the lab lives until Stop, or until this program ends. A
// program that wants an orderly end on ctrl-C catches the signal and calls Stop; without that, all is killed.
// When something does not start, everything is stopped again and the error ends with the last lines of its log.
func StartControlPlane(ctx context.Context, options Options) (*ControlPlane, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	dir, err := openDirectory(options.Dir)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{options: options, dir: dir, began: time.Now()}
	if err := c.bringUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting control plane: %w", err), c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) bringUp(ctx context.Context) error {
	var err error
	if c.credentials, err = newCredentials(c.dir); err != nil {
		return err
	}
	store, err := c.startEtcd(ctx)
	if err != nil {
		return err
	}
	if c.server, err = c.startAPIServer(ctx, store); err != nil {
		return err
	}
	if c.kubeconfig, err = c.writeKubeconfig("admin", c.credentials.admin); err != nil {
		return err
	}
	if c.client, err = client.New(c.RESTConfig(), client.Options{}); err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	if c.options.ControllerManager {
		if err := c.startControllerManager(ctx); err != nil {
			return err
		}
	}
	return c.InstallCRDs(ctx, c.options.CRDDirs...)
}

// RESTConfig is a new admin connection configuration, to be changed freely. It allows 1000 queries per second.
func (c *ControlPlane) RESTConfig() *rest.Config { return c.credentials.restConfig(c.server) }

// Kubeconfig is the path of the admin's kubeconfig file.
func (c *ControlPlane) Kubeconfig() string { return c.kubeconfig }

// Server is the API server's address: https://127.0.0.1:port.
func (c *ControlPlane) Server() string { return c.server }

// CA is the PEM certificate of the authority behind the serving certificate and behind all client certificates.
func (c *ControlPlane) CA() []byte { return append([]byte(nil), c.credentials.cluster.cert...) }

// Dir is where state and logs are.
func (c *ControlPlane) Dir() string { return c.dir.path }

// Processes are all that were started and not replaced, in that order. Some may have ended.
func (c *ControlPlane) Processes() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(append([]*Process(nil), c.servers...), c.guests...)
}

// Start runs a further program beside the control plane, for one our manager. Its environment is this program's, plus
// KUBECONFIG for the admin, plus env; its output goes to log/<name>.log in Dir. Starting returns at once: use
// Process.Await to wait until it is ready. A name may be used again when its process has ended.
func (c *ControlPlane) Start(ctx context.Context, name, path string, args, env []string) (*Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if c.stopped {
		return nil, fmt.Errorf("starting %s: the lab is stopped", name)
	}
	for i, p := range c.guests {
		if p.name != name {
			continue
		}
		select {
		case <-p.done:
			c.guests = append(c.guests[:i:i], c.guests[i+1:]...)
		default:
			return nil, fmt.Errorf("starting %s: it runs already", name)
		}
		break
	}
	p, err := run(name, path, c.logFile(name), args, append([]string{"KUBECONFIG=" + c.kubeconfig}, env...))
	if err != nil {
		return nil, err
	}
	c.guests = append(c.guests, p)
	return p, nil
}

// Stop ends everything in order: guests together, then the servers from the last to the first. It waits for every exit,
// kills what takes too long (that is the error), and removes a temporary directory. Calling it again does nothing.
func (c *ControlPlane) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), stopDeadline)
	defer cancel()

	problems := make([]error, len(c.guests))
	var wait sync.WaitGroup
	for i, p := range c.guests {
		wait.Go(func() { problems[i] = p.Stop(ctx) })
	}
	wait.Wait()
	for i := len(c.servers) - 1; i >= 0; i-- {
		problems = append(problems, c.servers[i].Stop(ctx))
	}
	c.say("stopped")
	return errors.Join(append(problems, c.dir.close())...)
}

func (c *ControlPlane) logFile(name string) string { return c.dir.join("log", name+".log") }

// say writes one progress line.
func (c *ControlPlane) say(format string, args ...any) {
	fmt.Fprintf(c.options.Log, "lab %6.2fs  %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

func (c *ControlPlane) writeKubeconfig(name string, who pair) (string, error) {
	content, err := c.credentials.kubeconfig(c.server, who)
	if err != nil {
		return "", err
	}
	path := c.dir.join(name + ".kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("writing kubeconfig: %w", err)
	}
	return path, nil
}
