// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/test/lab"
	"github.com/repave-io/cluster-api-provider-repave/test/leaks"
	"github.com/repave-io/cluster-api-provider-repave/test/registry"
	"github.com/repave-io/cluster-api-provider-repave/test/sim"
)

const (
	bmcUser     = "root"
	bmcPassword = "calvin-of-the-stories"
	// Every wait has this deadline: five times what the slowest takes on two idle cores.
	patience = 2 * time.Minute
	glance   = 200 * time.Millisecond
)

// rack is what one story has for itself: a namespace, a registry, and servers that are off and that nobody knows yet.
type rack struct {
	*WithT
	t            *testing.T
	ctx          context.Context
	controlPlane *lab.ControlPlane
	namespace    string
	registry     *registry.Registry
	fleet        *sim.Fleet
	prefix       string
	disks        string // folder of the servers' disks
}

// release is one version: an OS image to reach in place and a netboot image whose disk holds it.
type release struct{ os, netboot string }

// digest of the OS image.
func (r release) digest() string { return (&infrav1.Image{Ref: r.os}).Digest() }

// newRack makes servers prefix01, prefix02, … Their names are those of Nodes, so no two stories share a prefix.
func newRack(t *testing.T, prefix string, size int) *rack {
	t.Helper()
	r := &rack{WithT: NewWithT(t), t: t, ctx: t.Context(), controlPlane: stage.lab.ControlPlane(t), prefix: prefix, disks: t.TempDir()}
	r.namespace = r.controlPlane.Namespace(t)
	var err error
	r.registry, err = registry.Start()
	r.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = r.registry.Close() })
	r.fleet, err = sim.StartFleet(sim.FleetOptions{
		Size: size, Dir: r.disks, Prefix: prefix, Username: bmcUser, Password: bmcPassword,
		BootTime: 300 * time.Millisecond, ShutdownTime: 200 * time.Millisecond, StageTime: 100 * time.Millisecond, ResetDelay: 100 * time.Millisecond,
	})
	r.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = r.fleet.Close() })
	t.Cleanup(r.noSecretIsReadable)
	t.Cleanup(r.tellMore)
	return r
}

// grantSecrets lets the providers read the Secrets of the namespace, as templates/namespace-access.yaml does.
func (r *rack) grantSecrets() { r.render("templates/namespace-access.yaml", map[string]string{}) }

// render applies a manifest of the project, filled in.
func (r *rack) render(template string, variables map[string]string) {
	r.t.Helper()
	variables["NAMESPACE"] = r.namespace
	var pairs []string
	for name, value := range variables {
		pairs = append(pairs, placeholder(name), value)
	}
	manifest := strings.NewReplacer(pairs...).Replace(r.template(template, variables))
	r.Expect(r.controlPlane.Apply(r.ctx, []byte(manifest))).To(Succeed())
}

// template is a manifest as the real clusterctl fills it in, with placeholders: that is done once for all stories, for it costs
// more than what they do with it.
func (r *rack) template(template string, variables map[string]string) string {
	r.t.Helper()
	stage.mu.Lock()
	defer stage.mu.Unlock()
	if stage.templates == nil {
		stage.templates = map[string]string{}
	}
	if stage.templates[template] == "" {
		placeholders := map[string]string{}
		for name := range variables {
			placeholders[name] = placeholder(name)
		}
		text, err := r.controlPlane.Render(r.ctx, template, placeholders)
		r.Expect(err).NotTo(HaveOccurred())
		stage.templates[template] = string(text)
	}
	return stage.templates[template]
}

func placeholder(variable string) string { return "<" + variable + ">" }

// enrol applies a host. change may spoil what the manifest says.
func (r *rack) enrol(server *sim.Server, change map[string]string) {
	r.t.Helper()
	variables := map[string]string{
		"HOST_NAME": server.Name, "HOST_MAC": server.MAC, "ROOT_DISK_SERIAL": server.DiskSerial,
		"BMC_ADDRESS": server.BMC.URL(), "BMC_USERNAME": bmcUser, "BMC_PASSWORD": bmcPassword,
	}
	for name, value := range change {
		variables[name] = value
	}
	r.render("templates/host.yaml", variables)
}

// ready makes a rack of which all servers are enrolled.
func ready(t *testing.T, prefix string, size int) *rack {
	t.Helper()
	r := newRack(t, prefix, size)
	r.grantSecrets()
	for _, server := range r.fleet.Servers {
		r.enrol(server, nil)
	}
	return r
}

// publish pushes a release. Its bytes are those of no other story.
func (r *rack) publish(version string, size int) release {
	r.t.Helper()
	version = r.prefix + "-" + version
	os, err := r.registry.PushOSImage(r.ctx, "os", map[string][]byte{
		"usr/lib/os-release": []byte("VERSION_ID=" + version + "\n"),
		"usr/share/padding":  sim.DiskImage(version, 64<<10),
	})
	r.Expect(err).NotTo(HaveOccurred())
	disk := sim.DiskImage(version, size)
	sum := sha256.Sum256(disk)
	netboot, err := r.registry.PushNetbootImage(r.ctx, "netboot", map[string][]byte{"disk.img": disk}, map[string]any{
		"apiVersion": "repave.io/netboot-image/v1alpha1",
		"disk":       map[string]any{"path": "disk.img", "sha256": hex.EncodeToString(sum[:]), "compression": "none", "size": len(disk)},
		"osImage":    os,
	})
	r.Expect(err).NotTo(HaveOccurred())
	return release{os: os, netboot: netboot}
}

// small is the size of a disk image where nothing depends on it.
const small = 1 << 20

// pool applies a cluster with a pool of so many members. The pool is named cluster-pool.
func (r *rack) pool(cluster string, size int, v release) {
	r.t.Helper()
	endpoint, err := url.Parse(r.controlPlane.Server())
	r.Expect(err).NotTo(HaveOccurred())
	// The workload cluster is this same API server; a control-plane provider would say that it is there.
	r.Expect(r.controlPlane.CreateKubeconfigSecret(r.ctx, r.namespace, cluster)).To(Succeed())
	r.render("templates/cluster-template.yaml", map[string]string{
		"CLUSTER_NAME": cluster, "WORKER_MACHINE_COUNT": fmt.Sprint(size),
		"CONTROL_PLANE_ENDPOINT_HOST": endpoint.Hostname(), "CONTROL_PLANE_ENDPOINT_PORT": endpoint.Port(),
		"OS_IMAGE": v.os, "NETBOOT_IMAGE": v.netboot,
	})
	r.Expect(r.controlPlane.MarkControlPlaneInitialized(r.ctx, r.namespace, cluster)).To(Succeed())
}

// patch is kubectl patch --type merge.
func (r *rack) patch(object client.Object, name, patch string) error {
	object.SetNamespace(r.namespace)
	object.SetName(name)
	return stage.client.Patch(r.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl-patch"))
}

// setImage names another release in a pool.
func (r *rack) setImage(pool string, v release) {
	r.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"image":{"ref":%q},"netboot":{"image":{"ref":%q}}}}}}`, v.os, v.netboot)
	r.Expect(r.patch(&infrav1.RepaveMachinePool{}, pool, patch)).To(Succeed())
}

// scale asks Cluster API for another number of members.
func (r *rack) scale(pool string, size int) {
	r.t.Helper()
	r.Expect(r.patch(&clusterv1.MachinePool{}, pool, fmt.Sprintf(`{"spec":{"replicas":%d}}`, size))).To(Succeed())
}

// noSecretIsReadable ends every story: what it and those before it kept secret is in no log, Event and object.
func (r *rack) noSecretIsReadable() {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // that of the test is over
	defer cancel()
	run := leaks.Run{Client: stage.client, Dir: r.controlPlane.Dir(), Namespace: r.namespace}
	found, err := run.Secrets(ctx)
	r.Expect(err).NotTo(HaveOccurred())
	stage.mu.Lock()
	stage.secrets = append(stage.secrets, found...)
	found = stage.secrets[:len(stage.secrets):len(stage.secrets)]
	stage.mu.Unlock()
	places, err := run.Places(ctx)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(leaks.Find(found, places)).To(Succeed())
}
