// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

const digest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// world is one host in a namespace of its own, with the box behind it, its agent and a netboot server.
type world struct {
	*WithT
	t        *testing.T
	clock    time.Time
	key      client.ObjectKey
	box      *box
	bmcs     *actors
	r        *Reconciler
	writes   *writes
	events   *told
	lastBoot int
	redeemed map[string]int
}

// writes counts the writes of one process and breaks it at one of them.
type writes struct {
	n, at   int
	applied bool // the write that breaks is applied all the same
	broken  bool
}

var errKilled = errors.New("killed")

func (w *writes) write(do func() error) error {
	if w.broken {
		return errKilled
	}
	w.n++
	if w.at == 0 || w.n != w.at {
		return do()
	}
	w.broken = true
	if w.applied {
		if err := do(); err != nil {
			return err
		}
	}
	return errKilled
}

// told records events.
type told struct {
	mu   sync.Mutex
	said []string
}

func (e *told) Eventf(_ runtime.Object, _ runtime.Object, _, reason, _, note string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said = append(e.said, reason+": "+fmt.Sprintf(note, args...))
}

var namespaces int

func newWorld(t *testing.T, change ...func(*infrav1.RepaveHost)) *world {
	namespaces++
	w := &world{
		WithT: NewWithT(t), t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), redeemed: map[string]int{}, events: &told{},
		key: client.ObjectKey{Namespace: fmt.Sprintf("host-%d", namespaces), Name: "h1"},
	}
	w.box = &box{power: redfish.Off, now: func() time.Time { return w.clock }}
	w.Expect(direct.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.key.Namespace}})).To(Succeed())
	w.secret(map[string]string{"username": "admin", "password": password})
	host := &infrav1.RepaveHost{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name}}
	host.Spec.BMC = &infrav1.BMC{Address: "https://10.0.0.7", CredentialsRef: infrav1.SecretReference{Name: "bmc"}}
	host.Spec.RootDevice = &infrav1.RootDevice{SerialNumber: "d1"}
	for _, c := range change {
		c(host)
	}
	w.Expect(direct.Create(t.Context(), host)).To(Succeed())
	w.restart(0, false)
	return w
}

func (w *world) secret(data map[string]string) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "bmc"}, StringData: data}
	w.Expect(direct.Create(w.t.Context(), secret)).To(Succeed())
}

// restart is another process, which will be killed at a write of its own; 0: never.
func (w *world) restart(at int, applied bool) {
	kill := &writes{at: at, applied: applied}
	w.writes, w.bmcs = kill, newActors(w.box)
	w.r = &Reconciler{
		Client: interceptor.NewClient(direct, kill.funcs()), APIReader: direct, BMCs: w.bmcs, Orders: orders{}, Recorder: w.events,
		Now: func() time.Time { return w.clock },
	}
	w.r.complete()
}

func (w *writes) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return w.write(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return w.write(func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.write(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	}
}

func (w *world) host() *infrav1.RepaveHost {
	w.t.Helper()
	host := &infrav1.RepaveHost{}
	w.Expect(direct.Get(w.t.Context(), w.key, host)).To(Succeed())
	return host
}

// edit is a person, or another controller.
func (w *world) edit(change func(*infrav1.RepaveHost)) {
	w.t.Helper()
	host := w.host()
	before := host.DeepCopy()
	change(host)
	w.Expect(direct.Patch(w.t.Context(), host, client.MergeFrom(before))).To(Succeed())
}

func (w *world) editStatus(change func(*infrav1.RepaveHostStatus)) {
	w.t.Helper()
	host := w.host()
	before := host.DeepCopy()
	change(&host.Status)
	w.Expect(direct.Status().Patch(w.t.Context(), host, client.MergeFrom(before))).To(Succeed())
}

func (w *world) claim(h *infrav1.RepaveHost) {
	h.Spec.ClaimRef = &infrav1.HostClaim{Name: "m1", UID: "u1"}
	h.Spec.Desired = &infrav1.HostDesired{
		ProviderID: "repave://" + w.key.String() + "/m1", Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: "r.example/os@" + digest}},
		BootstrapDataSecretName: "join", Image: &infrav1.Image{Ref: "r.example/os@" + digest, PullSecretRef: &infrav1.SecretReference{Name: "pull"}},
	}
}

// turn is one reconcile, and what box, agent and netboot server do meanwhile. A process that was killed is followed by another.
func (w *world) turn() ctrl.Result {
	w.t.Helper()
	result, err := w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	switch {
	case w.writes.broken:
		w.restart(0, false)
	case err != nil:
		w.t.Fatalf("reconciling: %v", err)
	}
	if client.IgnoreNotFound(direct.Get(w.t.Context(), w.key, &infrav1.RepaveHost{})) == nil && !w.gone() {
		w.surroundings()
	}
	w.clock = w.clock.Add(2 * time.Second)
	return result
}

func (w *world) gone() bool {
	return direct.Get(w.t.Context(), w.key, &infrav1.RepaveHost{}) != nil
}

func (w *world) settle() {
	w.t.Helper()
	for quiet, last := 0, ""; quiet < 8; w.clock = w.clock.Add(time.Second) {
		w.turn()
		if w.gone() {
			return
		}
		if now := w.host(); now.ResourceVersion == last {
			quiet++
		} else {
			quiet, last = 0, now.ResourceVersion
		}
	}
}

// surroundings: the netboot server fetches what the open operation names; a box that was powered on boots; an agent that runs
// reports and renews its Lease.
func (w *world) surroundings() {
	host := w.host()
	view, err := lifecycle.ViewBoot(host, strings.TrimPrefix(w.box.booted, "http://boot/"))
	if err != nil {
		return
	}
	if op := view.Operation; op != nil && op.Digest != "" && (host.Status.Netboot == nil || host.Status.Netboot.Image.Digest != op.Digest) {
		w.editStatus(func(s *infrav1.RepaveHostStatus) {
			if s.Netboot == nil {
				s.Netboot = &infrav1.NetbootStatus{}
			}
			s.Netboot.Image = infrav1.NetbootImageStatus{Digest: op.Digest, State: infrav1.ImageReady}
		})
	}
	if w.box.boots != w.lastBoot && w.box.power == redfish.On {
		w.lastBoot = w.box.boots
		var mark *infrav1.InstallMark
		if w.box.booted != "" && lifecycle.Boot(view) == lifecycle.Installer {
			mark = &infrav1.InstallMark{Order: view.Order, Digest: view.Operation.Digest}
			w.redeemed[view.Order]++
		}
		w.editStatus(func(s *infrav1.RepaveHostStatus) {
			if mark == nil && s.Agent == nil {
				return
			}
			if s.Agent == nil {
				s.Agent = &infrav1.AgentStatus{}
			}
			if mark != nil {
				s.Netboot.RedeemedOrder, s.Agent.Install = mark.Order, mark
			}
			s.Agent.BootID, s.Agent.NodeName, s.Agent.Activity = fmt.Sprint("boot-", w.box.boots), "n1", infrav1.AgentIdle
		})
	}
	if w.box.power == redfish.On && host.Status.Agent != nil {
		w.renew()
	}
}

func (w *world) renew() {
	lease := &coordinationv1.Lease{}
	if direct.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: infrav1.LeaseName(w.key.Name)}, lease) != nil {
		return
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: w.clock}
	w.Expect(direct.Update(w.t.Context(), lease)).To(Succeed())
}

func (w *world) condition(kind string) metav1.Condition {
	w.t.Helper()
	found := meta.FindStatusCondition(w.host().Status.Conditions, kind)
	if found == nil {
		return metav1.Condition{}
	}
	return *found
}

// says expects the reason of a condition.
func (w *world) says(kind, reason string) {
	w.t.Helper()
	found := w.condition(kind)
	w.Expect(found.Reason).To(Equal(reason), "%s: %s", kind, found.Message)
}
