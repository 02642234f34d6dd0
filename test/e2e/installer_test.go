// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// The installer refuses what must not be written: a machine that is not the one the order names, a disk that no hint names, bytes
// of another digest. Each attempt says why, the last gives up, and nothing was installed. With the cause mended, a higher counter
// starts over.
func TestAnInstallThatIsRefusedWritesNothingAndSaysWhy(t *testing.T) {
	for _, test := range []struct {
		name, prefix string
		manifest     map[string]string // what it says wrongly
		mend         func(r *rack, name string) string
		reason       string
	}{
		{
			"no such disk", "nodisk", map[string]string{"ROOT_DISK_SERIAL": "GONE"},
			func(r *rack, name string) string {
				return `{"spec":{"rootDevice":{"serialNumber":"` + r.fleet.Server(name).DiskSerial + `"},"operations":{"repaveCounter":1}}}`
			}, infrav1.ReasonDiskNotFound,
		},
		{
			"another machine", "nohost", map[string]string{"HOST_MAC": "52:54:00:ff:ff:ff"},
			func(r *rack, name string) string {
				return `{"spec":{"interfaces":[{"mac":"` + r.fleet.Server(name).MAC + `"}],"operations":{"repaveCounter":1}}}`
			}, infrav1.ReasonWrongHost,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRack(t, test.prefix, 1)
			r.grantSecrets()
			server := r.fleet.Servers[0]
			precious := filepath.Join(r.disks, server.Name, server.DiskSerial, "precious")
			r.Expect(os.MkdirAll(filepath.Dir(precious), 0o755)).To(Succeed())
			r.Expect(os.WriteFile(precious, []byte("data"), 0o600)).To(Succeed())
			r.enrol(server, test.manifest)
			v1 := r.publish("v1", small)
			r.pool(test.prefix, 1, v1)

			r.eventually("all attempts are used up", func(g Gomega) {
				op := r.host(g, server.Name).Status.Operation
				g.Expect(op).NotTo(BeNil())
				g.Expect(op.Step).To(Equal(infrav1.StepGaveUp))
				g.Expect(op.Attempt).To(BeEquivalentTo(3))
				g.Expect(op.Message).To(ContainSubstring(test.reason))
			})
			ready := r.hostSays(server.Name, infrav1.ConditionReady, infrav1.ReasonAttemptsExhausted)
			r.Expect(ready.Message).To(ContainSubstring(test.reason))
			r.Expect(server.Box.Count("Installed")).To(BeZero())
			r.Expect(os.ReadFile(precious)).To(Equal([]byte("data")), "nothing was written")

			r.Expect(r.patch(&infrav1.RepaveHost{}, server.Name, test.mend(r, server.Name))).To(Succeed())
			r.runs(test.prefix+"-pool", 1, v1)
			r.Expect(server.Box.Count("Installed")).To(Equal(1))
		})
	}
}
