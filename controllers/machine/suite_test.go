// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/controllers/drain"
)

// live is the watch filter of the reconciler that the manager runs. Machines without it are driven by the tests by hand.
const live = "live"

var (
	config   *rest.Config
	scheme   = runtime.NewScheme()
	direct   client.WithWatch
	workload *sameCluster
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 0, err
		}
	}
	root, core, err := roots()
	if err != nil {
		return 0, err
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: filepath.Join(root, "bin"), ErrorIfCRDPathMissing: true, Scheme: scheme,
		CRDDirectoryPaths: []string{filepath.Join(root, "config/crd"), filepath.Join(core, "core/config/crd/bases")},
	}
	if config, err = env.Start(); err != nil {
		return 0, fmt.Errorf("starting control plane: %w", err)
	}
	config.QPS, config.Burst = 500, 1000
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	if err := startManager(ctx, done); err != nil {
		cancel()
		return 0, fmt.Errorf("starting manager: %w (stopping: %w)", err, env.Stop())
	}
	code := m.Run()
	cancel()
	<-done
	return code, env.Stop()
}

// roots are the repository and the Cluster API module.
func roots() (repository, core string, err error) {
	if repository, err = os.Getwd(); err != nil {
		return "", "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(repository, "go.mod")); err == nil {
			break
		}
		repository = filepath.Dir(repository)
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	return repository, strings.TrimSpace(string(out)), err
}

func startManager(ctx context.Context, done chan<- error) error {
	var err error
	if direct, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Node{}, index.NodeProviderIDField, index.NodeByProviderID); err != nil {
		return err
	}
	workload = &sameCluster{Client: mgr.GetClient(), cache: mgr.GetCache(), down: map[client.ObjectKey]bool{}}
	hands := drain.New(workload, drain.Options{Poll: 50 * time.Millisecond, Retry: 100 * time.Millisecond})
	if err := mgr.Add(hands); err != nil {
		return err
	}
	reconciler := &Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Nodes: hands, Drains: hands, WatchFilterValue: live}
	if err := reconciler.SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: 4}); err != nil {
		return err
	}
	go func() { done <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return context.Canceled
	}
	return nil
}

// sameCluster serves the management cluster as the workload cluster of every Cluster, but for those that are down.
type sameCluster struct {
	client.Client
	cache   ctrlcache.Cache
	watched sync.Once
	mu      sync.Mutex
	down    map[client.ObjectKey]bool
}

func (c *sameCluster) setDown(cluster client.ObjectKey, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down[cluster] = down
}

func (c *sameCluster) GetClient(_ context.Context, cluster client.ObjectKey) (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down[cluster] {
		return nil, clustercache.ErrClusterNotConnected
	}
	return c.Client, nil
}

func (c *sameCluster) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	return config, nil
}

func (c *sameCluster) Watch(_ context.Context, _ client.ObjectKey, watcher clustercache.Watcher) (err error) {
	c.watched.Do(func() { err = watcher.Watch(c.cache) })
	return err
}

func (c *sameCluster) GetClusterSource(string, func(context.Context, client.Object) []reconcile.Request, ...clustercache.GetClusterSourceOption) source.Source {
	return nil
}
