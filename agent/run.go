// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/repave-io/cluster-api-provider-repave/agent/facts"
	"github.com/repave-io/cluster-api-provider-repave/agent/fixed"
	"github.com/repave-io/cluster-api-provider-repave/agent/host"
	"github.com/repave-io/cluster-api-provider-repave/agent/identity"
	"github.com/repave-io/cluster-api-provider-repave/agent/join"
	"github.com/repave-io/cluster-api-provider-repave/agent/journal"
	"github.com/repave-io/cluster-api-provider-repave/agent/management"
	"github.com/repave-io/cluster-api-provider-repave/agent/report"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// Run is the life of an agent between two boots. It returns nil when the context ends, and an error when the host is in no state
// to run an agent: without configuration, certificate or boot ID.
func Run(ctx context.Context, o Options) (reterr error) {
	o = o.complete()
	h, err := host.Open(o.Root)
	if err != nil {
		return err
	}
	defer func() { reterr = errors.Join(reterr, h.Close()) }()
	config, err := loadConfig(h)
	if err != nil {
		return err
	}
	o.Log = o.Log.With("host", config.Host.Namespace+"/"+config.Host.Name)
	if o.Driver == nil {
		o.Driver = fixed.New(config.Install)
	}
	memory, lost, err := journal.Open(h)
	if err != nil {
		return err
	}
	if lost {
		o.Log.Error("The journal could not be read; nothing that was wished before is booted", "kept", journal.BrokenPath)
	}
	bootID, err := facts.BootID(h, o.BootIDPath)
	if err != nil {
		return err
	}
	self := &identity.Identity{Host: config.Host, Files: h, Clock: o.Clock, Log: o.Log}
	certificate, err := certify(ctx, self, h, config, o)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	api, err := management.New(config.APIServer, config.Host, certificate, "repave-agent/"+o.Version)
	if err != nil {
		return err
	}
	defer api.Close()
	a := newAgent(o, config, h, api, memory, bootID)
	a.live(ctx, self, certificate)
	return nil
}

// certify gives the host's certificate, asking for the first one where there is none that is good any more.
func certify(ctx context.Context, self *identity.Identity, h *host.Host, config orderv1.AgentConfig, o Options) (tls.Certificate, error) {
	certificate, err := self.Load()
	if err != nil && !errors.Is(err, identity.ErrNone) {
		return certificate, err
	}
	if err == nil && o.Clock.Now().Before(certificate.Leaf.NotAfter) {
		return certificate, eraseCredential(h, config)
	}
	if config.Enrolment == nil {
		return certificate, fmt.Errorf("enrolling: %w that is valid, and no credential to get one; repave the host", identity.ErrNone)
	}
	var web *http.Client
	if web = o.HTTPClient; web == nil {
		web = enrolmentClient(config.APIServer.CA)
	}
	certificate, err = self.Enrol(ctx, *config.Enrolment, web)
	if err != nil {
		return certificate, err
	}
	o.Log.Info("Enrolled", "until", certificate.Leaf.NotAfter)
	return certificate, eraseCredential(h, config)
}

func newAgent(o Options, config orderv1.AgentConfig, h *host.Host, api *management.Client, memory *journal.Journal, bootID string) *agent {
	a := &agent{
		options: o, config: config, api: api, journal: memory, bootID: bootID,
		reporter: report.NewReporter(api, o.Log),
		wishes:   make(chan wish),
		finished: make(chan outcome),
	}
	a.runner = &step.Runner{
		Driver: o.Driver, Journal: memory, Secrets: api, Joiner: &join.Joiner{Files: h, Secrets: api},
		BootID: bootID, Announce: a.announce, RebootDeadline: o.RebootDeadline, Clock: o.Clock, Log: o.Log,
	}
	return a
}

// live runs everything that an agent does at the same time, and waits for all of it.
func (a *agent) live(ctx context.Context, self *identity.Identity, certificate tls.Certificate) {
	o := a.options
	o.Log.Info("Running the agent", "driver", o.Driver.Name(), "version", o.Version, "bootID", a.bootID)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { report.KeepLease(ctx, a.api, a.config.Host.Name, o.Clock, o.Log) })
	all.Go(func() { a.reporter.Keep(ctx, o.Clock) })
	all.Go(func() { self.Keep(ctx, certificate, a.api, a.api.Use) })
	all.Go(func() { a.follow(ctx) })
	a.loop(ctx)
}
