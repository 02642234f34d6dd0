// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

func scriptImage(metadata image.Metadata) image.Image {
	metadata.Disk.Path = "disk.img"
	return image.Image{Digest: "sha256:d", Metadata: metadata, Files: map[string]image.File{"disk.img": {Path: "disk.img"}}}
}

func TestInstallerScripts(t *testing.T) {
	urls := order.URLs{Base: "http://netboot"}
	for name, c := range map[string]struct {
		metadata image.Metadata
		want     string
	}{
		"kernel, initrd and command line": {
			image.Metadata{Kernel: "boot/vm linuz", Initrd: "boot/initrd.img", Cmdline: "console=ttyS0  quiet"},
			"#!ipxe\nkernel http://netboot/v1/images/sha256:d/boot/vm%20linuz initrd=initrd console=ttyS0 quiet repave.plan=http://netboot/plan\n" +
				"initrd --name initrd http://netboot/v1/images/sha256:d/boot/initrd.img\nboot\n",
		},
		"kernel alone": {
			image.Metadata{Kernel: "uki.efi"},
			"#!ipxe\nkernel http://netboot/v1/images/sha256:d/uki.efi repave.plan=http://netboot/plan\nboot\n",
		},
		"no kernel": {
			image.Metadata{},
			"#!ipxe\n# repave.plan=http://netboot/plan\nexit\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := installerScript(urls, scriptImage(c.metadata), "http://netboot/plan")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestCommandLinesThatIPXEWouldMisread(t *testing.T) {
	for _, cmdline := range []string{"a ${net0/mac}", "a && shell", "a || shell", "a ; shell", "repave.plan=http://elsewhere"} {
		t.Run(cmdline, func(t *testing.T) {
			g := NewWithT(t)
			found := scriptImage(image.Metadata{Kernel: "k", Cmdline: cmdline})
			g.Expect(bootable(found)).To(MatchError(HavePrefix("cmdline must not contain")))
			_, err := installerScript(order.URLs{Base: "http://netboot"}, found, "http://netboot/plan")
			g.Expect(err).To(MatchError(HavePrefix("booting image sha256:d: ")))
		})
	}
}
