// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
	"github.com/repave-io/cluster-api-provider-repave/test/registry"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

// The stage: six servers, four of them wanted.
const (
	namespace   = "racks"
	cluster     = "demo"
	pool        = cluster + "-pool"
	fleetSize   = 6
	poolSize    = 4
	bmcUser     = "root"
	bmcPassword = "calvin-of-the-demo"
	diskBytes   = 4 << 20
)

// release is one version: an OS image to reach in place and a netboot image whose disk holds it.
type release struct{ version, os, netboot string }

// rig is everything that runs.
type rig struct {
	controlPlane *lab.ControlPlane
	repave       *lab.Repave
	registry     *registry.Registry
	fleet        *sim.Fleet
	fleetLog     *os.File // what the servers and their agents say
	client       client.WithWatch
	releases     []release
	dir          string
}

// setStage starts all of it. The rig is given back also with an error, to be closed.
func setStage(ctx context.Context, out *screen) (*rig, error) {
	r := &rig{}
	out.chapter("Setting the stage")
	dir := filepath.Join(demoDir, "state")
	if os.Getenv("KEEP") == "" {
		dir = "" // a directory of its own, so that demos may run side by side
	}
	var err error
	if r.controlPlane, err = lab.StartControlPlane(ctx, lab.Options{Dir: dir, ControllerManager: true}); err != nil {
		return r, err
	}
	r.dir = r.controlPlane.Dir()
	out.say("etcd, kube-apiserver and kube-controller-manager run at %s", r.controlPlane.Server())
	if err := r.controlPlane.StartClusterAPI(ctx); err != nil {
		return r, err
	}
	out.say("the Cluster API core manager runs")
	if r.repave, err = r.controlPlane.StartRepave(ctx); err != nil {
		return r, err
	}
	out.say("Repave runs: roles infrastructure, bootstrap and netboot, each with its own permissions")
	if r.client, err = newClient(r.controlPlane); err != nil {
		return r, err
	}
	if err := r.publish(ctx); err != nil {
		return r, err
	}
	out.say("a registry at %s holds the images of v1, v2 and v3", r.registry.Host())
	if r.fleetLog, err = os.Create(filepath.Join(r.logs(), "fleet.log")); err != nil {
		return r, fmt.Errorf("opening the log of the fleet: %w", err)
	}
	r.fleet, err = sim.StartFleet(sim.FleetOptions{
		Log:  slog.New(slog.NewTextHandler(r.fleetLog, nil)),
		Size: fleetSize, Dir: filepath.Join(r.dir, "fleet"), Username: bmcUser, Password: bmcPassword,
		BootTime: 700 * time.Millisecond, ShutdownTime: 300 * time.Millisecond, StageTime: 300 * time.Millisecond, ResetDelay: 200 * time.Millisecond,
	})
	if err != nil {
		return r, err
	}
	out.say("%d servers answer Redfish over HTTPS", len(r.fleet.Servers))
	return r, nil
}

func newClient(cp *lab.ControlPlane) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return client.NewWithWatch(cp.RESTConfig(), client.Options{Scheme: scheme})
}

// publish fills the registry with three releases.
func (r *rig) publish(ctx context.Context) error {
	var err error
	if r.registry, err = registry.Start(); err != nil {
		return err
	}
	for _, version := range []string{"v1", "v2", "v3"} {
		osImage, err := r.registry.PushOSImage(ctx, "os", map[string][]byte{
			"usr/lib/os-release": []byte("NAME=demo\nVERSION_ID=" + version + "\n"),
			"usr/share/padding":  sim.DiskImage(version, diskBytes/4),
		})
		if err != nil {
			return err
		}
		disk := sim.DiskImage(version, diskBytes)
		sum := sha256.Sum256(disk)
		netboot, err := r.registry.PushNetbootImage(ctx, "netboot", map[string][]byte{"disk.img": disk}, map[string]any{
			"apiVersion": "repave.io/netboot-image/v1alpha1",
			"disk":       map[string]any{"path": "disk.img", "sha256": hex.EncodeToString(sum[:]), "compression": "none", "size": len(disk)},
			"osImage":    osImage,
		})
		if err != nil {
			return err
		}
		r.releases = append(r.releases, release{version: version, os: osImage, netboot: netboot})
	}
	return nil
}

// manifests renders the project's own templates, with the real clusterctl, into files that a person would apply.
func (r *rig) manifests(ctx context.Context) ([]string, error) {
	var all []string
	add := func(template string, variables map[string]string) error {
		variables["NAMESPACE"] = namespace
		manifest, err := r.controlPlane.Render(ctx, template, variables)
		if err != nil {
			return err
		}
		all = append(all, filepath.Join(r.dir, fmt.Sprintf("manifest-%02d.yaml", len(all)+1)))
		return os.WriteFile(all[len(all)-1], manifest, 0o600)
	}
	if err := add("templates/namespace-access.yaml", map[string]string{}); err != nil {
		return nil, err
	}
	for _, server := range r.fleet.Servers {
		err := add("templates/host.yaml", map[string]string{
			"HOST_NAME": server.Name, "HOST_MAC": server.MAC, "ROOT_DISK_SERIAL": server.DiskSerial,
			"BMC_ADDRESS": server.BMC.URL(), "BMC_USERNAME": bmcUser, "BMC_PASSWORD": bmcPassword,
		})
		if err != nil {
			return nil, err
		}
	}
	endpoint, err := url.Parse(r.controlPlane.Server())
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	err = add("templates/cluster-template.yaml", map[string]string{
		"CLUSTER_NAME": cluster, "WORKER_MACHINE_COUNT": fmt.Sprint(poolSize),
		"CONTROL_PLANE_ENDPOINT_HOST": endpoint.Hostname(), "CONTROL_PLANE_ENDPOINT_PORT": endpoint.Port(),
		"OS_IMAGE": r.releases[0].os, "NETBOOT_IMAGE": r.releases[0].netboot,
		"DRAIN_FORCE": "true", // the pods of the demo have no controller that would bring them back
	})
	return all, err
}

// logs is where the processes write.
func (r *rig) logs() string { return filepath.Join(r.dir, "log") }

// keptLogs is where the logs of a failed run are kept.
const keptLogs = "out/demo-logs"

// keepLogs saves the logs of a run that failed, and gives an error that says where they are.
func (r *rig) keepLogs() error {
	if r.controlPlane == nil {
		return nil
	}
	if err := os.RemoveAll(keptLogs); err != nil {
		return fmt.Errorf("keeping the logs: %w", err)
	}
	if err := os.CopyFS(keptLogs, os.DirFS(r.logs())); err != nil {
		return fmt.Errorf("keeping the logs: %w", err)
	}
	return fmt.Errorf("the logs of this run are in %s", keptLogs)
}

// howToPlayOn prints the lines with which a person goes on.
func (r *rig) howToPlayOn() {
	fmt.Printf(`
It is left running. Play on:

  export KUBECONFIG=%s PATH=$PWD/bin:$PATH
  kubectl get repavehosts,repavemachines,repavemachinepools,machines -n %s
  kubectl repave hosts -n %s
  kubectl patch repavehost r01 -n %s --type merge -p '{"spec":{"operations":{"rebootCounter":5}}}'
  make demo-down
`, r.controlPlane.Kubeconfig(), namespace, namespace, namespace)
}

// close takes everything down, the servers first: they speak to the rest.
func (r *rig) close() {
	var errs []error
	if r.fleet != nil {
		errs = append(errs, r.fleet.Close())
	}
	if r.fleetLog != nil {
		errs = append(errs, r.fleetLog.Close())
	}
	if r.controlPlane != nil {
		errs = append(errs, r.controlPlane.Stop())
	}
	if r.registry != nil {
		errs = append(errs, r.registry.Close())
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "demo: taking the stage down:", err)
	}
}
