// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
)

var netbootImage = "registry.example/netboot@sha256:" + strings.Repeat("a", 64)

var shared = lab.NewShared(lab.Options{CRDDirs: []string{"../../config/crd"}})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// desk is a person with a shell, and the controllers that are played by the test.
type desk struct {
	*WithT
	t          testing.TB
	kubeconfig string
	namespace  string
	client     client.Client

	answers     string // what the person types
	interactive bool
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	g := NewWithT(t)
	cp := shared.ControlPlane(t)
	s, err := newScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(cp.RESTConfig(), client.Options{Scheme: s})
	g.Expect(err).NotTo(HaveOccurred())
	return &desk{WithT: g, t: t, kubeconfig: cp.Kubeconfig(), namespace: cp.Namespace(t), client: c}
}

// call is a command that runs or has run.
type call struct {
	out, errOut *output
	status      chan int
}

// output is what a command has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs kubectl repave with arguments, in the namespace of the desk, in the background.
func (d *desk) start(ctx context.Context, args ...string) *call {
	return d.execute(ctx, append(args, "--kubeconfig", d.kubeconfig, "--namespace", d.namespace))
}

func (d *desk) execute(ctx context.Context, args []string) *call {
	c := &call{out: &output{}, errOut: &output{}, status: make(chan int, 1)}
	streams := genericiooptions.IOStreams{In: strings.NewReader(d.answers), Out: c.out, ErrOut: c.errOut}
	p := newPlugin(streams, console{interactive: d.interactive, now: time.Now})
	go func() { c.status <- p.run(ctx, args) }()
	return c
}

// run runs it to its end and gives what it wrote, and its exit status.
func (d *desk) run(args ...string) (out, errOut string, status int) {
	d.t.Helper()
	c := d.start(d.t.Context(), args...)
	d.Eventually(c.status, "30s", "10ms").Should(Receive(&status))
	return c.out.String(), c.errOut.String(), status
}

// host makes a host that can be repaved.
func (d *desk) host(name string, change ...func(*infrav1.RepaveHost)) *infrav1.RepaveHost {
	d.t.Helper()
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.namespace}}
	host.Spec = infrav1.RepaveHostSpec{
		BMC:        &infrav1.BMC{Address: "https://10.0.0.7", CredentialsRef: infrav1.SecretReference{Name: "bmc"}},
		RootDevice: &infrav1.RootDevice{SerialNumber: "S1"},
		Desired:    &infrav1.HostDesired{Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: netbootImage}}},
	}
	for _, c := range change {
		c(host)
	}
	d.Expect(d.client.Create(d.t.Context(), host)).To(Succeed())
	return host
}

// play is the Host controller: it changes the status of a host.
func (d *desk) play(name string, change func(*infrav1.RepaveHost)) {
	d.t.Helper()
	host := d.get(name)
	before := client.MergeFrom(host.DeepCopy())
	host.Status.ObservedGeneration = host.Generation
	change(host)
	d.Expect(d.client.Status().Patch(d.t.Context(), host, before)).To(Succeed())
}

func (d *desk) get(name string) *infrav1.RepaveHost {
	d.t.Helper()
	host := &infrav1.RepaveHost{}
	d.Expect(d.client.Get(d.t.Context(), client.ObjectKey{Namespace: d.namespace, Name: name}, host)).To(Succeed())
	return host
}

// running is an operation of a host.
func running(kind infrav1.OperationKind, counter int64, step infrav1.OperationStep) *infrav1.Operation {
	at := metav1.NewTime(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	return &infrav1.Operation{ID: "op-1", Kind: kind, Method: infrav1.MethodPower, Counter: counter, Step: step, Attempt: 1, StartedAt: at, StepAt: at, Deadline: at}
}
