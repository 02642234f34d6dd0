// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
	"github.com/repave-io/cluster-api-provider-repave/test/registry"
)

const root = "../.."

var (
	config *rest.Config
	api    client.Client
	images *registry.Registry
	// store holds the image of ref, complete.
	store *image.Store
	ref   string

	siteKey = order.Key(bytes.Repeat([]byte{7}, order.KeySize))
	disk    = bytes.Repeat([]byte("disk "), 4000)
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if err := infrav1.AddToScheme(scheme.Scheme); err != nil {
		return 0, err
	}
	stop, err := startAPI()
	if err != nil {
		return 0, err
	}
	defer stop()
	if images, err = registry.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = images.Close() }()
	dir, err := os.MkdirTemp("", "netboot-images-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if store, err = image.NewStore(dir, image.Options{}); err != nil {
		return 0, err
	}
	defer func() { _ = store.Close() }()
	ctx := context.Background()
	if ref, err = push(ctx, "os", bootMetadata()); err != nil {
		return 0, err
	}
	if _, err := store.Ensure(ctx, ref, nil); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// startAPI starts an API server, but not for fuzzing: each of its workers is a process, and none of them needs one.
func startAPI() (stop func(), err error) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		return func() {}, nil
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: filepath.Join(root, "bin"),
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	if config, err = environment.Start(); err != nil {
		return nil, fmt.Errorf("starting API server: %w", err)
	}
	config.QPS = -1
	if api, err = client.New(config, client.Options{}); err != nil {
		return nil, errors.Join(err, environment.Stop())
	}
	return func() { _ = environment.Stop() }, nil
}

func push(ctx context.Context, repository string, metadata image.Metadata) (string, error) {
	files := map[string][]byte{"boot/disk.img": disk, "vmlinuz": []byte("kernel"), "initrd.img": []byte("initrd")}
	return images.PushNetbootImage(ctx, repository, files, metadata)
}

func bootMetadata() image.Metadata {
	return image.Metadata{
		APIVersion: image.MetadataAPIVersion,
		Disk:       image.Disk{Path: "boot/disk.img", SHA256: hexSum(disk), Compression: image.None, Size: int64(len(disk))},
		Kernel:     "vmlinuz", Initrd: "initrd.img", Cmdline: "console=ttyS0",
		OSImage: "registry.example/os@sha256:" + strings.Repeat("0", 64),
	}
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func digestOf(ref string) string { return (&infrav1.Image{Ref: ref}).Digest() }

// journal keeps all that a server logs.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		j.mu.Lock()
		defer j.mu.Unlock()
		fmt.Fprintln(&j.text, prefix, args)
	}, funcr.Options{Verbosity: 10})
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// site is a running server and what it says.
type site struct {
	*Server
	journal  *journal
	recorder *events.FakeRecorder
}

func startSite(t *testing.T, change func(*Options)) *site {
	t.Helper()
	g := NewWithT(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	s := &site{journal: &journal{}, recorder: events.NewFakeRecorder(1000)}
	options := Options{
		BaseURL:   "http://" + listener.Addr().String(),
		APIServer: orderv1.APIServer{URL: "https://api.example:6443", CA: []byte("ca")},
		Key:       siteKey, Store: store, Client: api, APIReader: api, Recorder: s.recorder,
	}
	if change != nil {
		change(&options)
	}
	s.Server, err = New(options)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(context.Background(), s.journal.logger()))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-ended).To(Succeed())
	})
	return s
}

// said are the Events so far.
func (s *site) said() []string {
	var out []string
	for {
		select {
		case event := <-s.recorder.Events:
			out = append(out, event)
		default:
			return out
		}
	}
}

// newHost makes a host in a namespace of its own, at the step where it is expected to boot.
func newHost(t *testing.T, change func(*infrav1.RepaveHost)) *infrav1.RepaveHost {
	t.Helper()
	g := NewWithT(t)
	ctx := t.Context()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "site-"}}
	g.Expect(api.Create(ctx, namespace)).To(Succeed())
	host := &infrav1.RepaveHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "h1"},
		Spec: infrav1.RepaveHostSpec{
			Interfaces: []infrav1.NetworkInterface{{MAC: "52:54:00:aa:00:01"}},
			RootDevice: &infrav1.RootDevice{SerialNumber: "disk-1"},
			Desired:    &infrav1.HostDesired{Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: ref}}},
		},
	}
	now := metav1.Now()
	host.Status.Operation = &infrav1.Operation{
		ID: "op", Kind: infrav1.OperationRepave, Method: infrav1.MethodNetboot, Step: infrav1.StepInstalling, Attempt: 1,
		Digest: digestOf(ref), StartedAt: now, StepAt: now, Deadline: now,
	}
	if change != nil {
		change(host)
	}
	status := host.Status
	g.Expect(api.Create(ctx, host)).To(Succeed())
	host.Status = status
	g.Expect(api.Status().Update(ctx, host)).To(Succeed())
	return host
}

func operate(t *testing.T, host *infrav1.RepaveHost, change func(*infrav1.Operation)) {
	t.Helper()
	updateStatus(t, host, func(status *infrav1.RepaveHostStatus) { change(status.Operation) })
}

func updateStatus(t *testing.T, host *infrav1.RepaveHost, change func(*infrav1.RepaveHostStatus)) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
	change(&host.Status)
	g.Expect(api.Status().Update(t.Context(), host)).To(Succeed())
}

func netbootStatus(t *testing.T, host *infrav1.RepaveHost) infrav1.NetbootStatus {
	t.Helper()
	g := NewWithT(t)
	g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
	return *netbootOf(host)
}
