// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

func TestFilesOfImages(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	newHost(t, nil)
	file := s.BaseURL + imagePath(digestOf(ref), "boot/disk.img")
	etag := `"sha256:` + hexSum(disk) + `"`

	before := counted(t, bytesTotal)
	whole := get(t, file)
	g.Expect(whole.status).To(Equal(http.StatusOK))
	g.Expect(whole.body).To(Equal(string(disk)))
	g.Expect(whole.header.Get("ETag")).To(Equal(etag))
	g.Expect(whole.header.Get("Content-Type")).To(Equal("application/octet-stream"))
	// Counted when the handler returns, which may be after the client has its last byte.
	g.Eventually(func() float64 { return counted(t, bytesTotal) - before }).Should(BeEquivalentTo(len(disk)))

	head := send(t, http.MethodHead, file, nil, nil)
	g.Expect(head.status).To(Equal(http.StatusOK))
	g.Expect(head.body).To(BeEmpty())
	g.Expect(head.header.Get("Content-Length")).To(Equal(whole.header.Get("Content-Length")))

	part := send(t, http.MethodGet, file, nil, http.Header{"Range": {"bytes=5-9"}, "If-Range": {etag}})
	g.Expect(part.status).To(Equal(http.StatusPartialContent))
	g.Expect(part.body).To(Equal(string(disk[5:10])))
	g.Expect(send(t, http.MethodGet, file, nil, http.Header{"Range": {"bytes=5-9"}, "If-Range": {`"other"`}}).body).To(Equal(string(disk)))
	g.Expect(send(t, http.MethodGet, file, nil, http.Header{"If-None-Match": {etag}}).status).To(Equal(http.StatusNotModified))
	g.Expect(send(t, http.MethodGet, file, nil, http.Header{"Range": {"bytes=999999999-"}}).status).To(Equal(http.StatusRequestedRangeNotSatisfiable))

	// Firmware writes double slashes, and does not follow redirects.
	g.Expect(get(t, strings.Replace(file, "/v1/images/", "//v1//images//", 1)).body).To(Equal(string(disk)))
}

func TestNothingElseIsServed(t *testing.T) {
	s := startSite(t, nil)
	newHost(t, nil)
	g := NewWithT(t)
	// An image that is here but that no host names.
	metadata := bootMetadata()
	metadata.Cmdline = "unnamed"
	unnamed, err := push(t.Context(), "unnamed", metadata)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = store.Ensure(t.Context(), unnamed, nil)
	g.Expect(err).NotTo(HaveOccurred())
	for name, path := range map[string]string{
		"the root":                 "/",
		"a verb of nobody":         "/v1/orders/a/b/c/d/disable",
		"an order without a verb":  "/v1/orders/a/b/c/d",
		"an image no host names":   imagePath(digestOf(unnamed), "boot/disk.img"),
		"an unknown image":         imagePath("sha256:"+strings.Repeat("2", 64), "boot/disk.img"),
		"a digest that is a path":  "/v1/images/..%2f..%2fetc/passwd",
		"a file the image has not": imagePath(digestOf(ref), "boot/other"),
		"a folder":                 imagePath(digestOf(ref), "boot"),
		"out of the image":         "/v1/images/" + digestOf(ref) + "/boot/../../x",
		"out of it, encoded":       "/v1/images/" + digestOf(ref) + "/%2e%2e/x",
		"a slash, encoded":         "/v1/images/" + digestOf(ref) + "/boot%2fdisk.img",
		"the mark of the store":    "/v1/images/" + digestOf(ref) + "/.complete",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(raw(t, s, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).To(HavePrefix("HTTP/1.1 404 "))
		})
	}
}

func TestMethodsAndLimits(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := newHost(t, nil)
	got := get(t, s.verb(host, "op.1", orderv1.VerbPlan))
	g.Expect(got.status).To(Equal(http.StatusMethodNotAllowed))
	g.Expect(got.header.Get("Allow")).To(Equal(http.MethodPost))
	g.Expect(post(t, s.verb(host, "op.1", orderv1.VerbBoot), nil).status).To(Equal(http.StatusMethodNotAllowed))
	g.Expect(post(t, s.BaseURL+imagePath(digestOf(ref), "vmlinuz"), nil).status).To(Equal(http.StatusMethodNotAllowed))
	g.Expect(get(t, s.urls.CertificateURL(host.Namespace, "h1", "op.1")).status).To(Equal(http.StatusMethodNotAllowed))
	g.Expect(netbootStatus(t, host).RedeemedOrder).To(BeEmpty())

	long := strings.Repeat("x", 2*maxHeaderBytes)
	g.Expect(raw(t, s, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+long+"\r\n\r\n")).To(HavePrefix("HTTP/1.1 431 "))
}

// Who one is, is a matter of the secret: no header that names another address changes an answer.
func TestForwardedHeadersMeanNothing(t *testing.T) {
	g := NewWithT(t)
	s := startSite(t, nil)
	host := newHost(t, nil)
	forwarded := http.Header{"X-Forwarded-For": {"10.0.0.1"}, "Forwarded": {"for=10.0.0.1"}, "X-Real-Ip": {"10.0.0.1"}}
	wrong := s.urls.At(orderv1.Path(host.Namespace, host.Name, "op.1", "x", orderv1.VerbBoot))
	g.Expect(send(t, http.MethodGet, wrong, nil, forwarded).status).To(Equal(http.StatusForbidden))
	g.Expect(send(t, http.MethodGet, s.verb(host, "op.1", orderv1.VerbBoot), nil, forwarded).status).To(Equal(http.StatusOK))
}

// raw sends bytes as no client of ours would.
func raw(t *testing.T, s *site, request string) string {
	t.Helper()
	g := NewWithT(t)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.BaseURL, "http://"))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(connection.Close()).To(Succeed()) }()
	_, err = io.WriteString(connection, request)
	g.Expect(err).NotTo(HaveOccurred())
	start := make([]byte, 64)
	n, err := io.ReadAtLeast(connection, start, 16)
	g.Expect(err).NotTo(HaveOccurred())
	return string(start[:n])
}
