// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/test/registry"
)

const soon = 10 * time.Second

// startFetcher runs a Fetcher with a store of its own.
func startFetcher(t *testing.T, retry time.Duration) (*Fetcher, *journal) {
	t.Helper()
	g := NewWithT(t)
	log := &journal{}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme.Scheme, Logger: log.logger(), Metrics: server.Options{BindAddress: "0"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	f := NewFetcher(mgr.GetClient(), mgr.GetAPIReader())
	own, err := image.NewStore(t.TempDir(), image.Options{Notify: f.Notify, RetryMin: retry, RetryMax: retry})
	g.Expect(err).NotTo(HaveOccurred())
	f.Store = own
	g.Expect(f.SetupWithManager(mgr, controller.Options{SkipNameValidation: ptr.To(true)})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-ended).To(Succeed())
		g.Expect(own.Close()).To(Succeed())
	})
	return f, log
}

// wanting makes a host whose open operation wants an image.
func wanting(t *testing.T, ref, pullSecret string) *infrav1.RepaveHost {
	t.Helper()
	return newHost(t, func(h *infrav1.RepaveHost) {
		h.Spec.Desired.Netboot.Image.Ref = ref
		if pullSecret != "" {
			h.Spec.Desired.Netboot.Image.PullSecretRef = &infrav1.SecretReference{Name: pullSecret}
		}
		h.Status.Operation.Step = infrav1.StepPreparing
		h.Status.Operation.Digest = digestOf(ref)
	})
}

func eventuallyImage(t *testing.T, host *infrav1.RepaveHost, want infrav1.NetbootImageStatus) {
	t.Helper()
	NewWithT(t).Eventually(func() infrav1.NetbootImageStatus { return netbootStatus(t, host).Image }, soon, 20*time.Millisecond).Should(
		SatisfyAll(HaveField("Digest", want.Digest), HaveField("State", want.State), HaveField("Reason", want.Reason), HaveField("Message", ContainSubstring(want.Message))))
}

func TestFetchedImagesAreReported(t *testing.T) {
	g := NewWithT(t)
	f, _ := startFetcher(t, time.Hour)
	ctx := t.Context()
	unbootable := bootMetadata()
	unbootable.Cmdline = "a ${b}"
	odd, err := push(ctx, "odd", unbootable)
	g.Expect(err).NotTo(HaveOccurred())
	noLayout, err := images.PushOSImage(ctx, "no-layout", map[string][]byte{"etc/os-release": nil})
	g.Expect(err).NotTo(HaveOccurred())
	missing := images.Host() + "/missing@sha256:" + strings.Repeat("3", 64)
	for name, c := range map[string]struct {
		ref  string
		want infrav1.NetbootImageStatus
	}{
		"ready":        {ref, infrav1.NetbootImageStatus{State: infrav1.ImageReady}},
		"missing":      {missing, infrav1.NetbootImageStatus{State: infrav1.ImageFailed, Reason: infrav1.ReasonImageNotFound, Message: missing}},
		"no layout":    {noLayout, infrav1.NetbootImageStatus{State: infrav1.ImageFailed, Reason: infrav1.ReasonImageInvalid}},
		"unbootable":   {odd, infrav1.NetbootImageStatus{State: infrav1.ImageFailed, Reason: infrav1.ReasonImageInvalid, Message: "iPXE would expand"}},
		"no registry":  {"127.0.0.1:1/os@sha256:" + strings.Repeat("4", 64), infrav1.NetbootImageStatus{State: infrav1.ImageFailed, Reason: infrav1.ReasonImagePullFailed}},
		"no host name": {"os@sha256:" + strings.Repeat("5", 64), infrav1.NetbootImageStatus{State: infrav1.ImageFailed, Reason: infrav1.ReasonImageInvalid}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			host := wanting(t, c.ref, "")
			c.want.Digest = digestOf(c.ref)
			eventuallyImage(t, host, c.want)
			// Said once: looking again writes nothing.
			version := host.ResourceVersion
			_, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(host)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(netbootStatus(t, host).Image.State).To(Equal(c.want.State))
			g.Expect(host.ResourceVersion).To(Equal(version))
		})
	}
}

func TestFetchingKeepsTheRestOfItsPart(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := wanting(t, ref, "")
	updateStatus(t, host, func(status *infrav1.RepaveHostStatus) { status.Operation.Step = infrav1.StepInstalling })
	g.Expect(planOf(t, s)(host).status).To(Equal(200))
	startFetcher(t, time.Hour)
	eventuallyImage(t, host, infrav1.NetbootImageStatus{Digest: digestOf(ref), State: infrav1.ImageReady})
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(Equal("op.1"))
}

func TestAnImageIsTriedAgain(t *testing.T) {
	g := NewWithT(t)
	metadata := bootMetadata()
	metadata.Cmdline = "flaky"
	flaky, err := push(t.Context(), "flaky", metadata)
	g.Expect(err).NotTo(HaveOccurred())
	images.Inject(registry.Fault{Kind: registry.NotFound, Part: "/flaky/manifests/"})
	defer images.ClearFaults()
	startFetcher(t, time.Millisecond)
	host := wanting(t, flaky, "")
	eventuallyImage(t, host, infrav1.NetbootImageStatus{Digest: digestOf(flaky), State: infrav1.ImageFailed, Reason: infrav1.ReasonImageNotFound})
	images.ClearFaults()
	eventuallyImage(t, host, infrav1.NetbootImageStatus{Digest: digestOf(flaky), State: infrav1.ImageReady})
}

func TestPullSecrets(t *testing.T) {
	g := NewWithT(t)
	f, log := startFetcher(t, time.Hour)
	private, err := registry.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(private.Close()).To(Succeed()) })
	files := map[string][]byte{"boot/disk.img": disk, "vmlinuz": nil, "initrd.img": nil}
	hidden, err := private.PushNetbootImage(t.Context(), "team/os", files, bootMetadata())
	g.Expect(err).NotTo(HaveOccurred())
	private.RequireCredentials("alice", "open-sesame")

	entry := func(password string) string {
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, private.Host(), base64.StdEncoding.EncodeToString([]byte("alice:"+password)))
	}
	host := wanting(t, hidden, "pull")
	unauthorized := infrav1.NetbootImageStatus{Digest: digestOf(hidden), State: infrav1.ImageFailed, Reason: infrav1.ReasonImageUnauthorized}
	look := func(message string) {
		t.Helper()
		unauthorized.Message = message
		g.Eventually(func(g Gomega) {
			_, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(host)})
			g.Expect(err).NotTo(HaveOccurred())
			now := netbootStatus(t, host).Image
			g.Expect(now.Reason).To(Equal(unauthorized.Reason))
			g.Expect(now.Message).To(ContainSubstring(message))
		}, soon, 20*time.Millisecond).Should(Succeed())
	}
	look("pull secret pull does not exist")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)},
	}
	g.Expect(api.Create(t.Context(), secret)).To(Succeed())
	look("pull secret pull has no entry for registry " + private.Host())
	secret.Data[corev1.DockerConfigJsonKey] = []byte(entry("wrong-password"))
	g.Expect(api.Update(t.Context(), secret)).To(Succeed())
	look("the registry answered")
	secret.Data[corev1.DockerConfigJsonKey] = []byte(entry("open-sesame"))
	g.Expect(api.Update(t.Context(), secret)).To(Succeed())
	_, err = f.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(host)})
	g.Expect(err).NotTo(HaveOccurred())
	eventuallyImage(t, host, infrav1.NetbootImageStatus{Digest: digestOf(hidden), State: infrav1.ImageReady})
	for _, password := range []string{"open-sesame", "wrong-password"} {
		g.Expect(log.String()).NotTo(ContainSubstring(password))
	}
}

func TestHostsThatWantNothingAreLeftAlone(t *testing.T) {
	g := NewWithT(t)
	f, _ := startFetcher(t, time.Hour)
	for name, change := range map[string]func(*infrav1.RepaveHost){
		"no operation": func(h *infrav1.RepaveHost) { h.Status.Operation = nil },
		"a reboot": func(h *infrav1.RepaveHost) {
			h.Status.Operation.Kind, h.Status.Operation.Method = infrav1.OperationReboot, infrav1.MethodPower
		},
		"gave up": func(h *infrav1.RepaveHost) { h.Status.Operation.Step = infrav1.StepGaveUp },
		"paused":  func(h *infrav1.RepaveHost) { h.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} },
	} {
		host := newHost(t, change)
		g.Eventually(func() error {
			return f.Client.Get(t.Context(), client.ObjectKeyFromObject(host), &infrav1.RepaveHost{})
		}, soon).Should(Succeed(), name)
		_, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(host)})
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(netbootStatus(t, host)).To(Equal(infrav1.NetbootStatus{}), name)
	}
}

// TestHostsOfAnotherServerAreLeftAlone: an image that changed wakes every host that wants it, of this server or not.
func TestHostsOfAnotherServerAreLeftAlone(t *testing.T) {
	g := NewWithT(t)
	f := NewFetcher(api, api)
	f.Store, f.WatchFilterValue = store, "ours"
	for label, want := range map[string]infrav1.ImageState{"theirs": "", "ours": infrav1.ImageReady} {
		host := newHost(t, func(h *infrav1.RepaveHost) { h.Labels = map[string]string{clusterv1.WatchLabel: label} })
		_, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(host)})
		g.Expect(err).NotTo(HaveOccurred(), label)
		g.Expect(netbootStatus(t, host).Image.State).To(Equal(want), label)
	}
}
