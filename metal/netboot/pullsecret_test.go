// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/repave-io/cluster-api-provider-repave/metal/image"
)

func TestDockerConfigs(t *testing.T) {
	const auth = "dXNlcjpwYXNzOndvcmQ=" // user:pass:word
	for name, c := range map[string]struct {
		config string
		want   image.Credentials
		err    string
	}{
		"auth":                      {`{"auths":{"registry.example":{"auth":"` + auth + `"}}}`, image.Credentials{Username: "user", Password: "pass:word"}, ""},
		"user name and password":    {`{"auths":{"registry.example":{"username":"u","password":"p"}}}`, image.Credentials{Username: "u", Password: "p"}, ""},
		"as docker login writes it": {`{"auths":{"https://registry.example/v1/":{"username":"u","password":"p"}}}`, image.Credentials{Username: "u", Password: "p"}, ""},
		"the closest entry": {
			`{"auths":{"registry.example":{"username":"far"},"registry.example/team":{"username":"near"},"registry.example/te":{"username":"other"}}}`,
			image.Credentials{Username: "near"}, "",
		},
		"another registry":  {`{"auths":{"registry.example.evil":{"username":"u"},"":{"username":"v"}}}`, image.Credentials{}, "has no entry for registry registry.example"},
		"no JSON":           {`open-sesame`, image.Credentials{}, "holds no valid .dockerconfigjson"},
		"auth not base64":   {`{"auths":{"registry.example":{"auth":"open-sesame"}}}`, image.Credentials{}, "has an entry whose auth is not base64 of username:password"},
		"auth without name": {`{"auths":{"registry.example":{"auth":"b3Blbg=="}}}`, image.Credentials{}, "has an entry whose auth is not base64 of username:password"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := parseDockerConfig([]byte(c.config), "registry.example/team/os")
			if c.err != "" {
				g.Expect(err).To(MatchError(c.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Username).To(Equal(c.want.Username))
			g.Expect(got.Password).To(Equal(c.want.Password))
		})
	}
}
