// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
)

func start(t *testing.T) *Registry {
	t.Helper()
	r, err := Start()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestPushedImageIsPulledByARealClient(t *testing.T) {
	g := NewWithT(t)
	r := start(t)
	files := map[string][]byte{"disk/disk.img": []byte("raw")}
	ref, err := r.PushNetbootImage(t.Context(), "site/os", files, map[string]string{"apiVersion": "x"})
	g.Expect(err).NotTo(HaveOccurred())
	again, err := r.PushNetbootImage(t.Context(), "site/os", files, map[string]string{"apiVersion": "x"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(ref), "equal input gives an equal digest")
	g.Expect(ref).To(MatchRegexp(`^127\.0\.0\.1:\d+/site/os@sha256:[0-9a-f]{64}$`))
	g.Expect(r.Requests()).To(BeEmpty(), "pushing is not counted")

	digest, err := name.NewDigest(ref)
	g.Expect(err).NotTo(HaveOccurred())
	img, err := remote.Image(digest, remote.WithContext(t.Context()))
	g.Expect(err).NotTo(HaveOccurred())
	layers, err := img.Layers()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(layers).To(HaveLen(1))
	g.Expect(r.Count(http.MethodGet, "/manifests/")).To(Equal(1))
}

func TestFaults(t *testing.T) {
	content := strings.Repeat("0123456789", 1000)
	cases := []struct {
		name   string
		fault  Fault
		status int
		cut    bool
		same   bool
	}{
		{name: "none", status: http.StatusOK, same: true},
		{name: "unauthorized", fault: Fault{Kind: Unauthorized}, status: http.StatusUnauthorized},
		{name: "unknown", fault: Fault{Kind: NotFound}, status: http.StatusNotFound},
		{name: "unavailable", fault: Fault{Kind: Unavailable}, status: http.StatusServiceUnavailable},
		{name: "cut in the middle", fault: Fault{Kind: Drop, After: 5000}, status: http.StatusOK, cut: true},
		{name: "one wrong byte", fault: Fault{Kind: Corrupt, After: 5000}, status: http.StatusOK},
		{name: "another path", fault: Fault{Kind: NotFound, Part: "/uploads/"}, status: http.StatusOK, same: true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := start(t)
			ref, err := r.PushLayers(t.Context(), "os", Layer{Blob: []byte(content), MediaType: "x/y"})
			g.Expect(err).NotTo(HaveOccurred())
			url := blobURL(t, r, ref)
			if tc.fault.Kind != "" {
				tc.fault.Times = 1
				r.Inject(tc.fault)
			}

			status, body, err := get(t, url)
			g.Expect(status).To(Equal(tc.status))
			g.Expect(err != nil).To(Equal(tc.cut))
			g.Expect(body == content).To(Equal(tc.same))
			if tc.cut {
				g.Expect(body).To(HaveLen(5000))
			}

			r.ClearFaults()
			_, body, err = get(t, url)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(body).To(Equal(content), "the stored bytes are whole, and a fault ends")
		})
	}
}

func TestCredentialsAreAskedFor(t *testing.T) {
	g := NewWithT(t)
	r := start(t)
	r.RequireCredentials("puller", "s3cret")
	ref, err := r.PushOSImage(t.Context(), "os", map[string][]byte{"a": []byte("b")})
	g.Expect(err).NotTo(HaveOccurred(), "the builders are inside")
	digest, err := name.NewDigest(ref)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = remote.Get(digest, remote.WithContext(t.Context()))
	g.Expect(err).To(MatchError(ContainSubstring("UNAUTHORIZED")))
	_, err = remote.Get(digest, remote.WithContext(t.Context()), remote.WithAuth(&authn.Basic{Username: "puller", Password: "s3cret"}))
	g.Expect(err).NotTo(HaveOccurred())
}

// blobURL is the address of the only layer of ref.
func blobURL(t *testing.T, r *Registry, ref string) string {
	t.Helper()
	g := NewWithT(t)
	digest, err := name.NewDigest(ref)
	g.Expect(err).NotTo(HaveOccurred())
	img, err := remote.Image(digest, remote.WithContext(t.Context()))
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := img.Manifest()
	g.Expect(err).NotTo(HaveOccurred())
	return "http://" + r.Host() + "/v2/" + digest.RepositoryStr() + "/blobs/" + manifest.Layers[0].Digest.String()
}

func get(t *testing.T, url string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}
