// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/test/registry"
)

func newRegistry(t testing.TB) *registry.Registry {
	t.Helper()
	r, err := registry.Start()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func newStore(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	opts.ResumeDelay = time.Millisecond
	s, err := NewStore(dir, opts)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// netboot is a whole netboot image of a raw disk.
func netboot(disk []byte) (map[string][]byte, Metadata) {
	files := map[string][]byte{"disk.img": disk, "boot/vmlinuz": []byte("kernel"), "boot/initrd": []byte("initrd")}
	return files, Metadata{
		APIVersion: MetadataAPIVersion,
		Disk:       Disk{Path: "disk.img", SHA256: sumOf(disk), Compression: None, Size: int64(len(disk))},
		Kernel:     "boot/vmlinuz",
		Initrd:     "boot/initrd",
		Cmdline:    "quiet",
	}
}

func noise(t testing.TB, n int) []byte {
	t.Helper()
	content := make([]byte, n)
	_, err := rand.Read(content)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

// push stores a netboot image with a disk of noise that no gzip makes smaller.
func push(t testing.TB, r *registry.Registry, size int) (string, []byte) {
	t.Helper()
	disk := noise(t, size)
	files, metadata := netboot(disk)
	ref, err := r.PushNetbootImage(t.Context(), "site/netboot", files, metadata)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return ref, disk
}

func digestOf(t testing.TB, ref string) string {
	t.Helper()
	parsed, err := ParseRef(ref)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return parsed.Digest
}

func contentOf(t testing.TB, image Image, path string) []byte {
	t.Helper()
	g := NewWithT(t)
	f, err := image.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(f)
	g.Expect(err).NotTo(HaveOccurred())
	return content
}

// expectClean says that nothing of a pull is left but complete images.
func expectClean(t testing.TB, dir string, images int) {
	t.Helper()
	g := NewWithT(t)
	work, err := os.ReadDir(filepath.Join(dir, workDir))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(work).To(BeEmpty())
	here, err := os.ReadDir(filepath.Join(dir, imagesDir))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(here).To(HaveLen(images))
}

func TestEnsurePullsAndVerifies(t *testing.T) {
	g := NewWithT(t)
	r, dir := newRegistry(t), t.TempDir()
	s := newStore(t, dir, Options{})
	ref, disk := push(t, r, 100_000)
	_, ok := s.Lookup(digestOf(t, ref))
	g.Expect(ok).To(BeFalse())

	image, err := s.Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(image.Digest).To(Equal(digestOf(t, ref)))
	g.Expect(image.Files).To(HaveLen(4))
	g.Expect(image.Files["disk.img"]).To(Equal(File{Path: "disk.img", Size: 100_000, SHA256: sumOf(disk)}))
	g.Expect(image.Metadata.Kernel).To(Equal("boot/vmlinuz"))
	g.Expect(bytes.Equal(contentOf(t, image, "disk.img"), disk)).To(BeTrue())
	_, err = image.Open("../lock")
	g.Expect(errors.Is(err, fs.ErrNotExist)).To(BeTrue())
	expectClean(t, dir, 1)

	// It is served from the disk from now on: by this store without network, and by the next process.
	before := len(r.Requests())
	_, err = s.Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
	again, ok := newStore(t, dir, Options{}).Lookup(image.Digest)
	g.Expect(ok).To(BeTrue())
	g.Expect(again).To(Equal(image))
	g.Expect(r.Requests()).To(HaveLen(before))
}

func TestContainerDisk(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	s := newStore(t, t.TempDir(), Options{})
	ref, err := r.PushNetbootImage(t.Context(), "disk", map[string][]byte{"disk/root.img": []byte("raw disk")}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	image, err := s.Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(image.Metadata.Disk).To(Equal(Disk{Path: "disk/root.img", SHA256: sumOf([]byte("raw disk")), Compression: None, Size: 8}))
}

func TestIndexGivesTheImageOfThePlatform(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	amd, disk := push(t, r, 1000)
	arm, _ := push(t, r, 1000)
	ref, err := r.PushIndex(t.Context(), "site/netboot", map[string]string{"linux/amd64": amd, "linux/arm64": arm})
	g.Expect(err).NotTo(HaveOccurred())

	image, err := newStore(t, t.TempDir(), Options{}).Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(image.Digest).To(Equal(digestOf(t, ref)))
	g.Expect(image.Files["disk.img"].SHA256).To(Equal(sumOf(disk)))

	_, err = newStore(t, t.TempDir(), Options{Platform: "linux/riscv64"}).Ensure(t.Context(), ref, nil)
	g.Expect(err).To(MatchError(ContainSubstring("no image for linux/riscv64")))
}

func TestFailures(t *testing.T) {
	cases := []struct {
		name  string
		fault *registry.Fault
		opts  Options
		// other asks for a digest the registry does not have.
		other bool
		kind  Kind
		text  string
	}{
		{name: "unknown image", other: true, kind: NotFound, text: "fetching the manifest: the registry answered 404 Not Found"},
		{name: "unknown layer", fault: &registry.Fault{Kind: registry.NotFound, Part: "/blobs/"}, kind: NotFound, text: "fetching a layer"},
		{name: "unauthorized", fault: &registry.Fault{Kind: registry.Unauthorized}, kind: Unauthorized, text: "401"},
		{name: "unavailable", fault: &registry.Fault{Kind: registry.Unavailable}, kind: Unreachable, text: "503"},
		{name: "corrupt manifest", fault: &registry.Fault{Kind: registry.Corrupt, Part: "/manifests/"}, kind: DigestMismatch, text: "the manifest"},
		{name: "corrupt head of a layer", fault: &registry.Fault{Kind: registry.Corrupt, Part: "/blobs/"}, kind: DigestMismatch, text: "layer sha256:"},
		{name: "corrupt body of a layer", fault: &registry.Fault{Kind: registry.Corrupt, Part: "/blobs/", After: 50_000}, kind: DigestMismatch, text: "layer sha256:"},
		{name: "always cut", fault: &registry.Fault{Kind: registry.Drop, Part: "/blobs/", After: 100}, kind: Unreachable, text: "fetching a layer: the connection broke"},
		{name: "a layer over the limit", opts: Options{MaxBlobBytes: 1000}, kind: TooLarge, text: "the limit is 1000"},
		{name: "layers over the limit", opts: Options{MaxImageBytes: 1000}, kind: TooLarge, text: "more than 1000 bytes"},
		{name: "too many entries", opts: Options{MaxEntries: 3}, kind: TooLarge, text: "more than 3 entries"},
		{name: "stalled", fault: &registry.Fault{Kind: registry.Hold, Part: "/manifests/"}, opts: Options{Stall: 50 * time.Millisecond}, kind: Unreachable, text: "stopped answering"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r, dir := newRegistry(t), t.TempDir()
			s := newStore(t, dir, tc.opts)
			ref, _ := push(t, r, 100_000)
			if tc.other {
				ref = r.Host() + "/site/netboot@" + someDigest
			}
			if tc.fault != nil {
				r.Inject(*tc.fault)
			}
			creds := &Credentials{Username: "alice", Password: "hunter2"}
			_, err := s.Ensure(t.Context(), ref, creds)
			var typed *Error
			g.Expect(errors.As(err, &typed)).To(BeTrue(), "%v", err)
			g.Expect(typed.Kind).To(Equal(tc.kind), "%v", err)
			g.Expect(typed.Ref).To(Equal(ref))
			g.Expect(err).To(MatchError(ContainSubstring(tc.text)))
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
			_, ok := s.Lookup(digestOf(t, ref))
			g.Expect(ok).To(BeFalse(), "nothing is served")
			expectClean(t, dir, 0)

			_, again := s.Ensure(t.Context(), ref, creds)
			g.Expect(again.Error()).To(Equal(err.Error()), "the same cause has the same message")
			if tc.fault == nil {
				return
			}
			r.ClearFaults()
			_, err = s.Ensure(t.Context(), ref, creds)
			g.Expect(err).NotTo(HaveOccurred(), "it recovers when the registry does")
		})
	}
}

func TestNobodyListens(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	ref, _ := push(t, r, 10)
	g.Expect(r.Close()).To(Succeed())
	_, err := newStore(t, t.TempDir(), Options{}).Ensure(t.Context(), ref, nil)
	g.Expect(KindOf(err)).To(Equal(Unreachable))
	g.Expect(err).To(MatchError("pulling image " + ref + ": connecting to the registry: connection refused"))
}

func TestUnauthorizedThenWithCredentials(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	r.RequireCredentials("alice", "hunter2")
	s := newStore(t, t.TempDir(), Options{})
	ref, _ := push(t, r, 1000)
	for _, creds := range []*Credentials{nil, {Username: "alice", Password: "wrong"}} {
		_, err := s.Ensure(t.Context(), ref, creds)
		g.Expect(KindOf(err)).To(Equal(Unauthorized))
	}
	_, err := s.Ensure(t.Context(), ref, &Credentials{Username: "alice", Password: "hunter2"})
	g.Expect(err).NotTo(HaveOccurred())
}

func TestABrokenTransferGoesOnWhereItStopped(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	ref, disk := push(t, r, 300_000)
	r.Inject(registry.Fault{Kind: registry.Drop, Part: "/blobs/", After: 100_000, Times: 2})
	image, err := newStore(t, t.TempDir(), Options{}).Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(contentOf(t, image, "disk.img"), disk)).To(BeTrue())
	var ranges []string
	for _, request := range r.Requests() {
		if request.Range != "" {
			ranges = append(ranges, request.Range)
		}
	}
	g.Expect(ranges).To(ConsistOf(HavePrefix("bytes=100000-"), HavePrefix("bytes=200000-")))
}

// TestAServerWithoutRanges answers the whole again: it must be skipped, not appended.
func TestAServerWithoutRanges(t *testing.T) {
	g := NewWithT(t)
	r := newRegistry(t)
	ref, disk := push(t, r, 300_000)
	r.Inject(registry.Fault{Kind: registry.Drop, Part: "/blobs/", After: 100_000, Times: 1})
	deaf := roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		req.Header.Del("Range")
		return http.DefaultTransport.RoundTrip(req)
	})
	image, err := newStore(t, t.TempDir(), Options{Transport: deaf}).Ensure(t.Context(), ref, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Equal(contentOf(t, image, "disk.img"), disk)).To(BeTrue())
}

// TestPrivateAddressesAreNotSpokenToInTheClear: go-containerregistry would.
func TestPrivateAddressesAreNotSpokenToInTheClear(t *testing.T) {
	g := NewWithT(t)
	var mu sync.Mutex
	var schemes []string
	refuse := roundTripper(func(req *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		schemes = append(schemes, req.URL.Scheme)
		return nil, errors.New("no")
	})
	ref := "10.1.2.3:5000/os@" + someDigest
	_, err := newStore(t, t.TempDir(), Options{Transport: refuse}).Ensure(t.Context(), ref, &Credentials{Username: "a", Password: "b"})
	g.Expect(KindOf(err)).To(Equal(Unreachable))
	g.Expect(schemes).To(HaveEach("https"))

	schemes = nil
	insecure := Options{Transport: refuse, Insecure: []string{"10.1.2.3:5000"}}
	_, err = newStore(t, t.TempDir(), insecure).Ensure(t.Context(), ref, nil)
	g.Expect(KindOf(err)).To(Equal(Unreachable))
	g.Expect(schemes).To(ContainElement("http"))
}
