// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Why a request was refused: labels of the metric and words of the Event. The host is not told.
const (
	refusedUnknownHost = "UnknownHost"
	refusedWrongSecret = "WrongSecret"
	refusedOutdated    = "Outdated"
	refusedRedeemed    = "Redeemed"
	refusedNotRedeemed = "NotRedeemed"
	refusedNotExpected = "NotExpected"
	refusedDenied      = "Denied"
)

// refusal is why a request gets 403. Its host is nil where nobody knows whose request it was.
type refusal struct {
	reason string
	note   string
	host   *infrav1.RepaveHost
}

func (r *refusal) Error() string { return "refused: " + r.reason }

// What Events say, for people.
var refusalNotes = map[string]string{
	refusedWrongSecret: "a request for this host came with a wrong secret",
	refusedOutdated:    "a request came with an order that is not the current one",
	refusedRedeemed:    "the plan of an order was asked for a second time",
	refusedNotRedeemed: "a certificate was asked for by an order whose plan was never handed out",
	refusedNotExpected: "a request came while no install is expected",
	refusedDenied:      "the certificate request of the host's agent was denied",
}

func refusedFor(reason string, host *infrav1.RepaveHost) error {
	return &refusal{reason: reason, note: refusalNotes[reason], host: host}
}

// refuse answers 403 with the same bytes for every reason, and tells people through an Event, a metric and the log.
func (s *Server) refuse(ctx context.Context, w http.ResponseWriter, at route, refused *refusal) {
	refusedTotal.WithLabelValues(refused.reason).Inc()
	log := ctrl.LoggerFrom(ctx).WithValues("verb", at.verb, "reason", refused.reason)
	if refused.host != nil {
		log = log.WithValues("RepaveHost", klog.KObj(refused.host))
		if s.refusals.tell(refused.host.UID) {
			s.Recorder.Eventf(refused.host, nil, corev1.EventTypeWarning, infrav1.EventOrderRefused, "Refuse", "Refused a request (%s): %s", at.verb, refused.note)
		}
	}
	log.V(2).Info("Refusing a request")
	text(w, http.StatusForbidden, "forbidden\n")
}

const (
	// tellHostEvery is the least time between two Events on one host: a boot loop must not fill the API.
	tellHostEvery = time.Minute
	// tellRate and tellBurst bound the Events on all hosts together.
	tellRate  = 1
	tellBurst = 20
	// rememberedHosts bounds the memory of who was told.
	rememberedHosts = 4096
)

// refusals remembers which hosts had an Event lately.
type refusals struct {
	now  func() time.Time
	all  *rate.Limiter
	mu   sync.Mutex
	last map[types.UID]time.Time
}

func newRefusals(now func() time.Time) refusals {
	return refusals{now: now, all: rate.NewLimiter(tellRate, tellBurst), last: map[types.UID]time.Time{}}
}

// tell says whether a refusal is worth an Event on the host now.
func (r *refusals) tell(host types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if told, ok := r.last[host]; ok && now.Sub(told) < tellHostEvery {
		return false
	}
	if !r.all.AllowN(now, 1) {
		return false
	}
	if len(r.last) >= rememberedHosts {
		clear(r.last)
	}
	r.last[host] = now
	return true
}
