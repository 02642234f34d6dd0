// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

func TestWholeOrder(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := newHost(t, nil)
	boot := order.URLs{Base: s.BaseURL, Key: siteKey}.BootURL(host.Namespace, host.Name, string(host.UID), "op.1")

	head := send(t, http.MethodHead, boot, nil, nil)
	g.Expect(head.status).To(Equal(http.StatusOK))
	g.Expect(netbootStatus(t, host).BootedOrder).To(BeEmpty(), "a look is no boot")

	script := get(t, boot)
	g.Expect(script.status).To(Equal(http.StatusOK))
	g.Expect(script.header.Get("Content-Type")).To(HavePrefix("text/plain"))
	g.Expect(script.header.Get("Content-Length")).To(Equal(head.header.Get("Content-Length")))
	g.Expect(script.header.Get("Cache-Control")).To(Equal("no-store"))
	g.Expect(netbootStatus(t, host).BootedOrder).To(Equal("op.1"))
	lines := strings.Split(script.body, "\n")
	g.Expect(lines).To(HaveLen(5))
	g.Expect(lines[0]).To(Equal("#!ipxe"))
	g.Expect(get(t, strings.Fields(lines[1])[1]).body).To(Equal("kernel"))
	g.Expect(get(t, strings.Fields(lines[2])[3]).body).To(Equal("initrd"))

	planURL := parameter(t, script.body)
	var plan orderv1.Plan
	post(t, planURL, nil).into(t, &plan)
	who := orderv1.Host{Namespace: host.Namespace, Name: "h1"}
	osImage := bootMetadata().OSImage
	g.Expect(cmp.Diff(orderv1.Plan{
		Version: orderv1.PlanVersion, Order: "op.1", Host: who, Interfaces: []string{"52:54:00:aa:00:01"},
		RootDevice: orderv1.RootDevice{SerialNumber: "disk-1"}, Image: digestOf(ref), OSImage: osImage,
		Disk: orderv1.Disk{URL: s.BaseURL + "/v1/images/" + digestOf(ref) + "/boot/disk.img", SHA256: hexSum(disk), Size: int64(len(disk))},
		Agent: orderv1.AgentConfig{
			Version: orderv1.AgentConfigVersion, Host: who, APIServer: orderv1.APIServer{URL: "https://api.example:6443", CA: []byte("ca")},
			Enrolment: &orderv1.Enrolment{
				URL:        s.BaseURL + "/v1/orders/" + host.Namespace + "/h1/op.1/-/certificate",
				Credential: siteKey.Credential(string(host.UID), "op.1"),
			},
			Install: orderv1.Install{Order: "op.1", Digest: digestOf(ref), OSImage: osImage},
		},
	}, plan)).To(BeEmpty())
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(Equal("op.1"))
	g.Expect(get(t, plan.Disk.URL).body).To(Equal(string(disk)))

	g.Expect(post(t, planURL, nil).status).To(Equal(http.StatusForbidden))
	g.Expect(get(t, boot).body).To(Equal(localDiskScript))

	// Another server, as after a restart: the same secrets, and the order is still used up.
	restarted := startSite(t, nil)
	again := strings.Replace(planURL, s.BaseURL, restarted.BaseURL, 1)
	g.Expect(post(t, again, nil).status).To(Equal(http.StatusForbidden))
	g.Expect(get(t, restarted.verb(host, "op.1", orderv1.VerbBoot)).body).To(Equal(localDiskScript))

	// The next attempt has an order of its own; the first one is outdated now.
	operate(t, host, func(op *infrav1.Operation) { op.Attempt = 2 })
	g.Expect(post(t, planURL, nil).status).To(Equal(http.StatusForbidden))
	post(t, s.verb(host, "op.2", orderv1.VerbPlan), nil).into(t, &plan)
	g.Expect(plan.Order).To(Equal("op.2"))

	said := s.said()
	g.Expect(said).To(ConsistOf(ContainSubstring("Warning OrderRefused Refused a request (plan): the plan of an order was asked for a second time")))
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(Equal("op.2"))
	s.keepsSecrets(t, host, said, "op.1", "op.2")
}

func TestOfPlansAskedForAtOnceOneIsAnswered(t *testing.T) {
	g := NewWithT(t)
	sites := []*site{startSite(t, nil), startSite(t, nil)}
	host := newHost(t, nil)
	const requests = 8
	replies := make([]reply, requests)
	var together sync.WaitGroup
	begin := make(chan struct{})
	for i := range requests {
		together.Go(func() {
			<-begin
			replies[i] = post(t, sites[i%2].verb(host, "op.1", orderv1.VerbPlan), nil)
		})
	}
	close(begin)
	together.Wait()
	count := map[int]int{}
	for _, r := range replies {
		count[r.status]++
	}
	g.Expect(count).To(Equal(map[int]int{http.StatusOK: 1, http.StatusForbidden: requests - 1}))
}

// Strangers and holders of spent orders get the same bytes.
func TestRefusalsAreAllAlike(t *testing.T) {
	s := startSite(t, nil)
	neighbour := newHost(t, nil)
	forbidden := func(r reply) []any { return []any{r.status, r.body, r.header.Get("Content-Type"), len(r.header)} }
	stranger := get(t, s.urls.At(orderv1.Path("nowhere", "nobody", "op.1", siteKey.Token("", "op.1"), orderv1.VerbBoot)))
	if stranger.status != http.StatusForbidden {
		t.Fatalf("a stranger got %d", stranger.status)
	}
	for _, c := range []struct {
		name   string
		reason string
		change func(*infrav1.RepaveHost)
		ask    func(*infrav1.RepaveHost) reply
	}{
		{"an unknown host", refusedUnknownHost, nil, func(*infrav1.RepaveHost) reply {
			return post(t, s.urls.At(orderv1.Path("nowhere", "nobody", "op.1", "x", orderv1.VerbPlan)), nil)
		}},
		{"a wrong token", refusedWrongSecret, nil, func(h *infrav1.RepaveHost) reply {
			return post(t, s.urls.At(orderv1.Path(h.Namespace, h.Name, "op.1", "x", orderv1.VerbPlan)), nil)
		}},
		{"a wrong token, boot", refusedWrongSecret, nil, func(h *infrav1.RepaveHost) reply {
			return get(t, s.urls.At(orderv1.Path(h.Namespace, h.Name, "op.1", "x", orderv1.VerbBoot)))
		}},
		{"another host's token", refusedWrongSecret, nil, func(h *infrav1.RepaveHost) reply {
			return post(t, s.urls.At(orderv1.Path(h.Namespace, h.Name, "op.1", siteKey.Token(string(neighbour.UID), "op.1"), orderv1.VerbPlan)), nil)
		}},
		{"another order's token", refusedWrongSecret, nil, func(h *infrav1.RepaveHost) reply {
			return post(t, s.urls.At(orderv1.Path(h.Namespace, h.Name, "op.1", siteKey.Token(string(h.UID), "op.2"), orderv1.VerbPlan)), nil)
		}},
		{"an outdated attempt", refusedOutdated, func(h *infrav1.RepaveHost) { h.Status.Operation.Attempt = 2 }, planOf(t, s)},
		{"another operation", refusedOutdated, func(h *infrav1.RepaveHost) { h.Status.Operation.ID = "other" }, planOf(t, s)},
		{"no operation", refusedNotExpected, func(h *infrav1.RepaveHost) { h.Status.Operation = nil }, planOf(t, s)},
		{"a host that gave up", refusedNotExpected, func(h *infrav1.RepaveHost) { h.Status.Operation.Step = infrav1.StepGaveUp }, planOf(t, s)},
		{"a host that is to be off", refusedNotExpected, func(h *infrav1.RepaveHost) { h.Status.Operation.Step = infrav1.StepForcingOff }, planOf(t, s)},
		{"a host whose record is unreadable", refusedNotExpected, func(h *infrav1.RepaveHost) {
			h.Annotations = map[string]string{infrav1.AnnotationRecord: "{"}
		}, planOf(t, s)},
		{"no root device", refusedNotExpected, func(h *infrav1.RepaveHost) { h.Spec.RootDevice = nil }, planOf(t, s)},
		{"a host at its proof whose status was lost", refusedRedeemed, func(h *infrav1.RepaveHost) { h.Status.Operation.Step = infrav1.StepProving }, planOf(t, s)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			host := newHost(t, c.change)
			before := counted(t, refusedTotal.WithLabelValues(c.reason))
			got := c.ask(host)
			g.Expect(forbidden(got)).To(Equal(forbidden(stranger)))
			g.Expect(counted(t, refusedTotal.WithLabelValues(c.reason)) - before).To(BeEquivalentTo(1))
			g.Expect(netbootStatus(t, host)).To(Equal(infrav1.NetbootStatus{}), "nothing was redeemed")
			said := s.said()
			if c.reason == refusedUnknownHost {
				g.Expect(said).To(BeEmpty())
			} else {
				g.Expect(said).To(ConsistOf(HavePrefix("Warning OrderRefused ")))
			}
			s.keepsSecrets(t, host, said, "op.1", "op.2")
		})
	}
}

func planOf(t *testing.T, s *site) func(*infrav1.RepaveHost) reply {
	return func(h *infrav1.RepaveHost) reply { return post(t, s.verb(h, "op.1", orderv1.VerbPlan), nil) }
}

func TestBootAnswers(t *testing.T) {
	s := startSite(t, nil)
	for name, c := range map[string]struct {
		change func(*infrav1.RepaveHost)
		status int
		body   string
	}{
		"nothing is expected":     {func(h *infrav1.RepaveHost) { h.Status.Operation = nil }, http.StatusNotFound, "nothing to boot\n"},
		"an outdated order":       {func(h *infrav1.RepaveHost) { h.Status.Operation.Attempt = 2 }, http.StatusNotFound, "nothing to boot\n"},
		"installed, being proven": {func(h *infrav1.RepaveHost) { h.Status.Operation.Step = infrav1.StepProving }, http.StatusOK, localDiskScript},
		"the image is not here":   {func(h *infrav1.RepaveHost) { h.Status.Operation.Digest = "sha256:" + strings.Repeat("1", 64) }, http.StatusServiceUnavailable, "the image is not here yet\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			host := newHost(t, c.change)
			got := get(t, s.verb(host, "op.1", orderv1.VerbBoot))
			g.Expect(got.status).To(Equal(c.status))
			g.Expect(got.body).To(Equal(c.body))
		})
	}
}

func TestAPlanWithoutItsImageDoesNotUseUpTheOrder(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := newHost(t, func(h *infrav1.RepaveHost) { h.Status.Operation.Digest = "sha256:" + strings.Repeat("1", 64) })
	got := post(t, s.verb(host, "op.1", orderv1.VerbPlan), nil)
	g.Expect(got.status).To(Equal(http.StatusServiceUnavailable))
	g.Expect(got.header.Get("Retry-After")).To(Equal("1"))
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(BeEmpty())
}

// TestAPausedHostIsNotWritten: its installer waits, and gets the plan when the pause ends.
func TestAPausedHostIsNotWritten(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := newHost(t, func(h *infrav1.RepaveHost) { h.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} })
	waits := post(t, s.verb(host, "op.1", orderv1.VerbPlan), nil)
	g.Expect(waits.status).To(Equal(http.StatusServiceUnavailable))
	g.Expect(waits.header.Get("Retry-After")).To(Equal("1"))
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(BeEmpty())
	host.Annotations = nil
	g.Expect(api.Update(t.Context(), host)).To(Succeed())
	g.Expect(post(t, s.verb(host, "op.1", orderv1.VerbPlan), nil).status).To(Equal(http.StatusOK))
}
