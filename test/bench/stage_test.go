// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
)

const (
	namespace = "racks"
	// argumentsVariable holds further arguments for bin/repave, to try out what a flag brings.
	argumentsVariable = "REPAVE_BENCH_ARGS"
	// deadline bounds a whole benchmark without its idle window.
	deadline = 15 * time.Minute
	// calm is how long nothing must have been written before what came before is taken to be over.
	calm = 5 * time.Second
	// restless is the share of one core above which the API server is taken to be still at work: it spends the first seconds
	// after its start, and after new CRDs, on its own.
	restless = 0.25
)

// interrupted ends with ctrl-C, so that an interrupted benchmark still takes its stage down.
var interrupted context.Context

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	interrupted = ctx
	ctrl.SetLogger(logr.Discard()) // what libraries have to say would be between the figures
	status := m.Run()
	stop()
	os.Exit(status)
}

// stage is all that a benchmark runs on: nothing on it has been used before.
type stage struct {
	controlPlane *lab.ControlPlane
	repave       *lab.Repave
	fleet        fleet
	config       *rest.Config
	client       client.Client
	api          rest.Interface // for what is no object
	close        func()
}

// setStage starts a control plane with the CRDs of Cluster API, Repave as released, and a fleet that nobody knows yet. All of
// it ends with the benchmark, or earlier with close.
func setStage(ctx context.Context, b *testing.B, size int) *stage {
	b.Helper()
	s := &stage{}
	s.close = sync.OnceFunc(func() {
		if s.controlPlane != nil {
			if err := s.controlPlane.Stop(); err != nil {
				b.Error(err)
			}
		}
		s.fleet.close()
	})
	b.Cleanup(s.close)
	if err := s.set(ctx, size); err != nil {
		b.Fatal(err)
	}
	return s
}

func (s *stage) set(ctx context.Context, size int) error {
	crds, err := clusterAPICRDs(ctx)
	if err != nil {
		return err
	}
	if s.controlPlane, err = lab.StartControlPlane(ctx, lab.Options{CRDDirs: []string{crds}}); err != nil {
		return err
	}
	if s.repave, err = s.controlPlane.StartRepave(ctx, strings.Fields(os.Getenv(argumentsVariable))...); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := infrav1.AddToScheme(scheme); err != nil {
		return err
	}
	s.config = s.controlPlane.RESTConfig()
	s.config.QPS = -1 // what is measured is not how fast we are allowed to ask
	if s.client, err = client.New(s.config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	config := rest.CopyConfig(s.config)
	config.GroupVersion, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, clientgoscheme.Codecs
	if s.api, err = rest.UnversionedRESTClientFor(config); err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	access, err := s.controlPlane.Render(ctx, "templates/namespace-access.yaml", map[string]string{"NAMESPACE": namespace})
	if err != nil {
		return err
	}
	if err := s.controlPlane.Apply(ctx, access); err != nil {
		return err
	}
	s.fleet, err = startFleet(size)
	return err
}

// clusterAPICRDs is the folder of Cluster API's CRDs in the module cache, at the version of go.mod.
func clusterAPICRDs(ctx context.Context) (string, error) {
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return "", fmt.Errorf("finding Cluster API: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(module)), "core", "config", "crd", "bases"), nil
}

// reading is what has been used up to one moment.
type reading struct {
	at     time.Time
	sent   counts // by all processes of Repave to the API server
	served counts // by the API server, whoever asked
	bmc    int    // requests to BMCs
	cpu    map[string]time.Duration
}

func (s *stage) read(ctx context.Context) (reading, error) {
	r := reading{at: time.Now(), sent: counts{}, cpu: map[string]time.Duration{}, bmc: s.fleet.requests()}
	for _, p := range s.repave.Processes() {
		counted, err := sent(ctx, p)
		if err != nil {
			return r, err
		}
		for what, n := range counted {
			r.sent[what] += n
		}
	}
	for _, p := range s.controlPlane.Processes() {
		used, err := cpu(p)
		if err != nil {
			return r, err
		}
		r.cpu[p.Name()] = used
	}
	metrics, err := s.api.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return r, fmt.Errorf("reading the metrics of the API server: %w", err)
	}
	r.served, err = served(metrics)
	return r, err
}

// since is what was used between two readings.
func (r reading) since(before reading) reading {
	used := reading{at: r.at, sent: r.sent.since(before.sent), served: r.served.since(before.served), bmc: r.bmc - before.bmc, cpu: maps.Clone(r.cpu)}
	for name, earlier := range before.cpu {
		used.cpu[name] -= earlier
	}
	return used
}

func (r reading) writes() float64 { return r.sent.sum(isWrite) }
func (r reading) reads() float64 {
	return r.sent.sum(func(what string) bool { return !isWrite(what) })
}

// settle waits until Repave has written nothing for a while, and the API server rests: events and second looks come after the
// hosts are reachable.
func (s *stage) settle(ctx context.Context) (reading, error) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	last, err := s.read(ctx)
	if err != nil {
		return last, err
	}
	for quietSince := last.at; ; {
		select {
		case <-every.C:
		case <-ctx.Done():
			return last, fmt.Errorf("waiting until nothing is written: %w", context.Cause(ctx))
		}
		now, err := s.read(ctx)
		if err != nil {
			return now, err
		}
		used := now.since(last)
		if used.writes() > 0 || used.cpu["kube-apiserver"].Seconds() > restless*now.at.Sub(last.at).Seconds() {
			quietSince = now.at
		}
		if last = now; now.at.Sub(quietSince) >= calm {
			return now, nil
		}
	}
}
