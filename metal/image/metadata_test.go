// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

var someSum = strings.Repeat("0a", 32)

// goodMetadata is a metadata.yaml with every field.
var goodMetadata = `# what this image holds
apiVersion: repave.io/netboot-image/v1alpha1
disk:
  path: disk.img.gz
  sha256: ` + someSum + `
  compression: gzip
  size: 1073741824
kernel: boot/vmlinuz
initrd: boot/initrd.img
cmdline: console=ttyS0 quiet
osImage: registry.example/os@` + someDigest + "\n"

func TestParseMetadata(t *testing.T) {
	g := NewWithT(t)
	got, err := ParseMetadata([]byte(goodMetadata))
	g.Expect(err).NotTo(HaveOccurred())
	want := Metadata{
		APIVersion: MetadataAPIVersion,
		Disk:       Disk{Path: "disk.img.gz", SHA256: someSum, Compression: Gzip, Size: 1 << 30},
		Kernel:     "boot/vmlinuz",
		Initrd:     "boot/initrd.img",
		Cmdline:    "console=ttyS0 quiet",
		OSImage:    "registry.example/os@" + someDigest,
	}
	g.Expect(cmp.Diff(want, got)).To(BeEmpty())
}

func TestParseMetadataRefuses(t *testing.T) {
	replace := func(old, with string) string { return strings.Replace(goodMetadata, old, with, 1) }
	cases := []struct{ name, text, why string }{
		{"nothing", "", "apiVersion must be"},
		{"not a mapping", "- a", "cannot unmarshal"},
		{"another version", replace("v1alpha1", "v9"), "apiVersion must be"},
		{"an unknown field", goodMetadata + "kernal: x\n", `unknown field "kernal"`},
		{"an unknown field of the disk", replace("  size:", "  sise:"), `unknown field "disk.sise"`},
		{"a field in another case", replace("kernel:", "Kernel:"), `unknown field "Kernel"`},
		{"a field twice", goodMetadata + "kernel: x\n", "already"},
		{"a second document", goodMetadata + "---\nkernel: x\n", "more than one document"},
		{"a disk out of the image", replace("disk.img.gz", "../disk.img"), "relative path"},
		{"an absolute disk", replace("disk.img.gz", "/disk.img"), "relative path"},
		{"a kernel out of the image", replace("boot/vmlinuz", "boot/../../vmlinuz"), "kernel must be a relative path"},
		{"no checksum", replace(someSum, `""`), "disk.sha256"},
		{"an unknown compression", replace("gzip", "xz"), "disk.compression"},
		{"no size", replace("1073741824", "0"), "disk.size"},
		{"a negative size", replace("1073741824", "-1"), "disk.size"},
		{"a fractional size", replace("1073741824", "1.5"), "cannot unmarshal"},
		{"an initrd without kernel", replace("kernel: boot/vmlinuz\n", ""), "need a kernel"},
		{"a second line of the kernel", replace("console=ttyS0 quiet", `"quiet\nboot"`), "one printable line"},
		{"a long cmdline", replace("quiet", strings.Repeat("q", 3000)), "longer than"},
		{"an OS image by tag", replace("@"+someDigest, ":latest"), "osImage"},
		{"a huge text", goodMetadata + "#" + strings.Repeat("x", maxMetadata), "larger than"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := ParseMetadata([]byte(tc.text))
			g.Expect(err).To(MatchError(And(HavePrefix("parsing metadata.yaml: "), ContainSubstring(tc.why))))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"), "the message stands in a condition")
		})
	}
}

func FuzzParseMetadata(f *testing.F) {
	f.Add([]byte(goodMetadata))
	f.Add([]byte("apiVersion: repave.io/netboot-image/v1alpha1\ndisk: {path: d, sha256: x, compression: none, size: 1}"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("---\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseMetadata(text)
		if err != nil {
			return
		}
		if err := validPath(m.Disk.Path); err != nil {
			t.Fatalf("disk %q %v", m.Disk.Path, err)
		}
		// What was accepted says the same when written down again.
		again, err := yaml.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		reread, err := ParseMetadata(again)
		if err != nil || reread != m {
			t.Fatalf("%+v reads back as %+v, %v", m, reread, err)
		}
	})
}
