// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
	"github.com/repave-io/cluster-api-provider-repave/test/leaks"
)

// The story of a power cut waits until this has passed; an install of a simulated server takes a tenth of it.
const installDeadline = "60s"

// keptLogs is where the logs of a failed run are, relative to this package.
const keptLogs = "../../out/e2e-logs"

// root of the checkout, relative to this package; versionVariable is what a build stamps.
const (
	root            = "../.."
	versionVariable = "github.com/repave-io/cluster-api-provider-repave/version.version"
)

// stage is what all stories share.
var stage struct {
	lab    *lab.Shared
	repave *lab.Repave
	client client.WithWatch

	mu        sync.Mutex
	secrets   []leaks.Secret // of all stories so far
	templates map[string]string
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// Stories wait more than they compute: all that may run side by side do, whatever the number of cores.
	if err := flag.Set("test.parallel", "32"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "repave-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	stage.lab = lab.NewShared(lab.Options{Dir: dir, ControllerManager: true}, (*lab.ControlPlane).StartClusterAPI, startRepave)
	status := stage.lab.Main(m)
	if status != 0 {
		err := errors.Join(os.RemoveAll(keptLogs), os.CopyFS(keptLogs, os.DirFS(filepath.Join(dir, "log"))))
		fmt.Fprintln(os.Stderr, "the logs of this run are in out/e2e-logs", err)
	}
	return status
}

// build brings bin/repave up to date with the working tree, as make build does, so that no story is told of yesterday's.
func build(ctx context.Context) error {
	// Folders that were read are part of what the cache of go test compares: without this it would show an old success, for it
	// does not know that a program is built from them.
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains([]string{".git", "bin", "out", ".demo"}, entry.Name()) {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the working tree: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X "+versionVariable+"=v0.1.0", "-o", filepath.Join("bin", "repave"), ".")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building bin/repave: %w\n%s", err, out)
	}
	return nil
}

// startRepave starts the provider, with clients for the stories.
func startRepave(cp *lab.ControlPlane, ctx context.Context) error {
	if err := build(ctx); err != nil {
		return err
	}
	var err error
	if stage.repave, err = cp.StartRepave(ctx, "--install-deadline="+installDeadline); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme))
	if err != nil {
		return fmt.Errorf("building the scheme: %w", err)
	}
	stage.client, err = client.NewWithWatch(cp.RESTConfig(), client.Options{Scheme: scheme})
	return err
}
