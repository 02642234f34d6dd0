// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// raced is an API in which somebody else writes the host right after it was read.
type raced struct {
	client.Reader
	write func(*infrav1.RepaveHost)
}

func (r *raced) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := r.Reader.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if host, ok := object.(*infrav1.RepaveHost); ok {
		r.write(host.DeepCopy())
	}
	return nil
}

func TestALostRaceIsDecidedAgain(t *testing.T) {
	g := NewWithT(t)
	host := newHost(t, nil)
	reads := 0
	s := startSite(t, func(o *Options) {
		o.APIReader = &raced{api, func(h *infrav1.RepaveHost) {
			if reads++; reads <= 2 {
				h.Status.Operation.Tries++
				g.Expect(api.Status().Update(context.Background(), h)).To(Succeed())
			}
		}}
	})
	g.Expect(planOf(t, s)(host).status).To(Equal(http.StatusOK))
	g.Expect(reads).To(Equal(3))
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(Equal("op.1"))
}

// The order was replaced between the decision and the write: the old one must not be handed out.
func TestAnOrderReplacedMeanwhileIsRefused(t *testing.T) {
	g := NewWithT(t)
	host := newHost(t, nil)
	s := startSite(t, func(o *Options) {
		o.APIReader = &raced{api, func(h *infrav1.RepaveHost) {
			if h.Status.Operation.Attempt == 1 {
				h.Status.Operation.Attempt = 2
				g.Expect(api.Status().Update(context.Background(), h)).To(Succeed())
			}
		}}
	})
	g.Expect(planOf(t, s)(host).status).To(Equal(http.StatusForbidden))
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(BeEmpty())
}

func TestAnEndlessRaceEnds(t *testing.T) {
	g := NewWithT(t)
	host := newHost(t, nil)
	s := startSite(t, func(o *Options) {
		o.APIReader = &raced{api, func(h *infrav1.RepaveHost) {
			h.Status.Operation.Tries++
			g.Expect(api.Status().Update(context.Background(), h)).To(Succeed())
		}}
	})
	got := planOf(t, s)(host)
	g.Expect(got.status).To(Equal(http.StatusServiceUnavailable))
	g.Expect(got.header.Get("Retry-After")).NotTo(BeEmpty())
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(BeEmpty())
	// A host boots all the same when nobody could be told of it.
	g.Expect(get(t, s.verb(host, "op.1", orderv1.VerbBoot)).status).To(Equal(http.StatusOK))
}

// broken is an API that cannot be written.
type broken struct{ client.Client }

func (b broken) Status() client.SubResourceWriter { return brokenStatus{b.Client.Status()} }

type brokenStatus struct{ client.SubResourceWriter }

var errBroken = errors.New("the API server is gone")

func (brokenStatus) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errBroken
}

// A plan whose redemption could not be written must not leave the server.
func TestNoPlanWithoutItsRedemption(t *testing.T) {
	g := NewWithT(t)
	host := newHost(t, nil)
	s := startSite(t, func(o *Options) { o.Client = broken{api} })
	got := planOf(t, s)(host)
	g.Expect(got.status).To(Equal(http.StatusServiceUnavailable))
	g.Expect(got.body).To(Equal("try again\n"), "what is wrong on our side is not the host's to know")
	g.Expect(s.journal.String()).To(ContainSubstring(errBroken.Error()))
	s.keepsSecrets(t, host, s.said(), "op.1")
}
