// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
	"github.com/repave-io/cluster-api-provider-repave/controllers/update"
)

// newReconciler is a process that was just started.
func newReconciler(c client.Client) *Reconciler {
	hands := drain.New(workload, drain.Options{Poll: 50 * time.Millisecond, Retry: 100 * time.Millisecond})
	return &Reconciler{
		Client: c, APIReader: c, Nodes: hands, Drains: hands, Recorder: &events.FakeRecorder{}, Limits: update.DefaultLimits(), Now: time.Now,
	}
}

// drive reconciles a machine as often as its changes would wake it.
func (w *world) drive(r *Reconciler, name string) {
	for range 10 {
		if _, err := r.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key(name)}); errors.Is(err, errKilled) {
			return
		}
	}
}

var errKilled = errors.New("killed")

// mortal counts the writes of a process and kills it at one of them: just before, or just after it took effect.
type mortal struct {
	at     int
	after  bool
	writes int
	dead   bool
}

func (m *mortal) write(do func() error) error {
	if m.dead {
		return errKilled
	}
	m.writes++
	if m.writes != m.at {
		return do()
	}
	m.dead = true
	if m.after {
		if err := do(); err != nil {
			return fmt.Errorf("%w: %w", errKilled, err)
		}
	}
	return errKilled
}

func (m *mortal) client() client.Client {
	return interceptor.NewClient(direct, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return m.write(func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return m.write(func() error { return c.Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return m.write(func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	})
}

// TestKilledAtEveryWrite kills the process before and after every write of a claim and of a release. Whatever it was, the
// next process ends with one host for the machine, and then with none.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			killed := false
			t.Run(fmt.Sprintf("write %d, after: %v", at, after), func(t *testing.T) {
				w := newWorld(t, "")
				w.host("h1")
				w.host("h2")
				w.machine("m")
				first := &mortal{at: at, after: after}
				w.drive(newReconciler(first.client()), "m")
				w.rivalTakesAHost()
				w.drive(newReconciler(direct), "m")
				w.Expect(w.claims("m")).To(HaveLen(1))
				w.Expect(w.getMachine("m").Annotations[infrav1.AnnotationHost]).To(Equal(w.claims("m")[0]))
				w.Expect(w.why("m", infrav1.ConditionHostClaimed)).To(Equal("True Claimed"))

				w.Expect(direct.Delete(w.ctx, w.getMachine("m"))).To(Succeed())
				held := w.claims("m")[0]
				second := &mortal{at: at, after: after}
				w.drive(newReconciler(second.client()), "m")
				w.drive(newReconciler(direct), "m")
				w.Expect(w.claims("m")).To(Equal([]string{held}), "a host that is not off yet must stay claimed")
				w.powerOff(held)
				third := &mortal{at: at, after: after}
				w.drive(newReconciler(third.client()), "m")
				w.drive(newReconciler(direct), "m")
				w.Expect(w.claims("m")).To(BeEmpty())
				w.Expect(apierrors.IsNotFound(direct.Get(w.ctx, w.key("m"), &infrav1.RepaveMachine{}))).To(BeTrue())
				killed = first.dead || second.dead || third.dead
			})
			if !killed || t.Failed() {
				break
			}
		}
	}
}

// rivalTakesAHost lets another machine claim the first host that is still free, as it might while a process is down.
func (w *world) rivalTakesAHost() {
	for _, name := range []string{"h1", "h2"} {
		host := w.getHost(name)
		if host.Spec.ClaimRef == nil {
			before := host.DeepCopy()
			host.Spec.ClaimRef = &infrav1.HostClaim{Name: "rival", UID: "rival"}
			w.Expect(direct.Patch(w.ctx, host, client.MergeFrom(before))).To(Succeed())
			return
		}
	}
}
