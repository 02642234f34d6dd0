// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"net/url"
	"strings"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

const (
	verbImage = "image"
	// verbOther is how requests for nothing of ours are counted.
	verbOther = "other"
	// maxPath bounds a path before it is taken apart.
	maxPath = 4096
)

// route is what a path asks for.
type route struct {
	verb string
	// Of orders.
	namespace, host, order, token string
	// Of images.
	digest, path string
}

// parseRoute takes a raw path apart: the verbs of orders, and files of images. Firmware writes double slashes and does not
// follow redirects, so empty elements are dropped here instead of being redirected away. An element that decodes to a dot
// element or to one with a slash is nobody's name.
func parseRoute(raw string) (route, bool) {
	if len(raw) > maxPath {
		return route{}, false
	}
	var parts []string
	for part := range strings.SplitSeq(raw, "/") {
		if part == "" {
			continue
		}
		name, err := url.PathUnescape(part)
		if err != nil || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return route{}, false
		}
		parts = append(parts, name)
	}
	switch {
	case len(parts) == 7 && parts[0] == "v1" && parts[1] == "orders":
		return orderRoute(parts[2:])
	case len(parts) >= 4 && parts[0] == "v1" && parts[1] == "images":
		return route{verb: verbImage, digest: parts[2], path: strings.Join(parts[3:], "/")}, true
	default:
		return route{}, false
	}
}

func orderRoute(parts []string) (route, bool) {
	r := route{namespace: parts[0], host: parts[1], order: parts[2], token: parts[3], verb: parts[4]}
	switch r.verb {
	case orderv1.VerbBoot, orderv1.VerbPlan, orderv1.VerbFailure, orderv1.VerbCertificate:
		return r, true
	default:
		return route{}, false
	}
}

// imagePath is the path of a file of an image.
func imagePath(digest, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "/v1/images/" + digest + "/" + strings.Join(parts, "/")
}
