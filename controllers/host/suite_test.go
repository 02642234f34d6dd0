// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var (
	config *rest.Config
	scheme = runtime.NewScheme()
	direct client.WithWatch // of nobody's process: people, agents and the netboot server
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.UseDevMode(false)))
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 0, err
		}
	}
	core, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return 0, fmt.Errorf("finding Cluster API: %w", err)
	}
	root := filepath.Join("..", "..")
	env := &envtest.Environment{
		BinaryAssetsDirectory: filepath.Join(root, "bin"), ErrorIfCRDPathMissing: true, Scheme: scheme,
		CRDDirectoryPaths: []string{filepath.Join(root, "config/crd"), filepath.Join(strings.TrimSpace(string(core)), "core/config/crd/bases")},
	}
	if config, err = env.Start(); err != nil {
		return 0, fmt.Errorf("starting control plane: %w", err)
	}
	defer func() {
		if stopped := env.Stop(); err == nil {
			err = stopped
		}
	}()
	config.QPS, config.Burst = 1000, 2000
	if direct, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return 0, err
	}
	return m.Run(), nil
}
