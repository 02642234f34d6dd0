// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/registry"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// The stories of this file are not parallel to others: what they kill serves all.

// The manager is killed, as kill -9 does it, at every step of an install, of a reboot and of a rollout, and started again. What it
// had begun is gone on with, and nothing is done a second time.
func TestAManagerThatIsKilledAtEveryStepDoesNothingTwice(t *testing.T) {
	r := ready(t, "kill", 2)
	v1, v2 := r.publish("v1", small), r.publish("v2", small)

	killed := r.killing(func() {
		r.pool("kill", 2, v1)
		r.runs("kill-pool", 2, v1)
	})
	r.Expect(killed).To(ContainElements("Repave/Preparing", "Repave/PoweringOn", "Repave/Installing"))
	for _, server := range r.fleet.Servers {
		offs, ons := power(server)
		r.Expect([]int{offs, ons}).To(Equal([]int{0, 1}), server.Name+" was off: an install switches it on, once")
		r.Expect(server.Box.Count("Installed")).To(Equal(1), server.Name)
		r.Expect(r.host(r, server.Name).Status.History).To(ConsistOf(And(HaveField("Outcome", infrav1.OutcomeSucceeded), HaveField("Attempts", BeEquivalentTo(1)))))
	}

	server := r.fleet.Servers[0]
	boot := r.host(r, server.Name).Status.Agent.BootID
	killed = r.killing(func() {
		r.Expect(r.patch(&infrav1.RepaveHost{}, server.Name, `{"spec":{"operations":{"rebootCounter":1}}}`)).To(Succeed())
		r.eventually("the reboot is acknowledged", func(g Gomega) {
			host := r.host(g, server.Name)
			g.Expect(host.Status.Operations.RebootCounter).To(BeEquivalentTo(1))
			g.Expect(host.Status.Operation).To(BeNil())
			g.Expect(host.Status.Agent.BootID).NotTo(Equal(boot))
		})
		r.runs("kill-pool", 2, v1)
	})
	r.Expect(killed).To(ContainElements("Reboot/ShuttingDown", "Reboot/PoweringOn", "Reboot/Proving"))
	offs, ons := power(server)
	r.Expect([]int{offs, ons}).To(Equal([]int{1, 2}), "one off, one on")
	r.Expect(server.Box.Count("Booted")).To(Equal(2))
	r.Expect(r.host(r, server.Name).Status.History).To(HaveLen(2), "acknowledged once")

	killed = r.killing(func() {
		r.setImage("kill-pool", v2)
		r.runs("kill-pool", 2, v2)
	})
	r.Expect(killed).To(ContainElements("Update/Booting"))
	for _, server := range r.fleet.Servers {
		r.Expect(count(server, "Booted", v2.digest())).To(Equal(1), server.Name+" booted the new image once")
		r.Expect(server.Box.Count("Installed")).To(Equal(1), server.Name+" was not installed for it")
	}
}

// killing kills the infrastructure manager at every step that hosts and machines are seen to reach for the first time while
// something is done, and gives those steps.
func (r *rack) killing(do func()) []string {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	steps := r.steps(ctx)
	var killed []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		seen := map[string]bool{}
		for step := range steps {
			if seen[step] || ctx.Err() != nil {
				continue
			}
			seen[step] = true
			killed = append(killed, step)
			// Also at the end of the story the manager is started again: others need it.
			if err := stage.repave.Restart(context.WithoutCancel(ctx), "infrastructure"); err != nil {
				r.t.Error(err)
			}
		}
	}()
	do()
	stop()
	<-done
	r.t.Logf("killed at %v", killed)
	return killed
}

// steps gives every step that hosts and machines of the namespace are seen to take, until the context ends.
func (r *rack) steps(ctx context.Context) <-chan string {
	r.t.Helper()
	steps := make(chan string, 64)
	var watching sync.WaitGroup
	for _, list := range []client.ObjectList{&infrav1.RepaveHostList{}, &infrav1.RepaveMachineList{}} {
		w, err := stage.client.Watch(ctx, list, client.InNamespace(r.namespace))
		r.Expect(err).NotTo(HaveOccurred())
		watching.Go(func() {
			defer w.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case event, open := <-w.ResultChan():
					if !open {
						return
					}
					if step := stepOf(event.Object); step != "" {
						select {
						case steps <- step:
						case <-ctx.Done():
							return
						}
					}
				}
			}
		})
	}
	go func() {
		watching.Wait()
		close(steps)
	}()
	return steps
}

func stepOf(object any) string {
	switch o := object.(type) {
	case *infrav1.RepaveHost:
		if op := o.Status.Operation; op != nil {
			return string(op.Kind) + "/" + string(op.Step)
		}
	case *infrav1.RepaveMachine:
		if u := o.Status.Update; u != nil && u.Step != infrav1.UpdateUpToDate {
			return "Update/" + string(u.Step)
		}
	}
	return ""
}

// The netboot server is killed while it pulls an image, and while a server writes its disk. The first costs nothing but time; of
// the second the server says that its install failed, and the next order installs it, once.
func TestANetbootServerThatIsKilledCostsAnAttemptAtMost(t *testing.T) {
	r := ready(t, "site", 1)
	server := r.fleet.Servers[0]
	v1 := r.publish("v1", 16<<20) // more than fits into the buffers of a connection
	pulled, written := make(chan struct{}), make(chan struct{})
	r.registry.Inject(registry.Fault{Kind: registry.Hold, Part: "/netboot/blobs/", Release: pulled})
	server.Box.SetFaults(sim.Faults{HoldInstall: written})

	r.pool("site", 1, v1)
	r.eventually("the image is being pulled", func(g Gomega) {
		g.Expect(r.registry.Count("GET", "/netboot/blobs/")).To(BeNumerically(">", 0))
	})
	r.Expect(stage.repave.Restart(r.ctx, "netboot")).To(Succeed())
	r.untouched(server)
	close(pulled)

	r.happens(server, "Writing", 1)
	r.Expect(stage.repave.Restart(r.ctx, "netboot")).To(Succeed())
	close(written)

	r.runs("site-pool", 1, v1)
	r.Expect(server.Box.Count("InstallFailed")).To(Equal(1))
	r.Expect(server.Box.Count("Installed")).To(Equal(1))
	r.Expect(server.Box.Count("Writing")).To(Equal(2), "each order was handed out once")
	r.Expect(r.host(r, server.Name).Status.History).To(ConsistOf(And(HaveField("Outcome", infrav1.OutcomeSucceeded), HaveField("Attempts", BeEquivalentTo(2)))))
}
