// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// Cluster is what a host must know of the cluster that it joins.
type Cluster struct {
	Name   string
	Server string // https URL of the API server
	CA     []byte // PEM of the certificates that the API server is verified by
}

var tokenPattern = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// Agent renders a config for the agent of a host: an AgentJoin as JSON with a newline at its end. A spec that asks for something
// that cannot be is an *InvalidSpecError; other errors speak of the cluster's facts. No error shows the token.
func Agent(spec bootstrapv1.RepaveConfigSpec, cluster Cluster, token string) ([]byte, error) {
	if err := Validate(spec); err != nil {
		return nil, err
	}
	if err := cluster.validate(); err != nil {
		return nil, fmt.Errorf("reading the facts of the cluster: %w", err)
	}
	if !tokenPattern.MatchString(token) {
		return nil, errors.New("reading the join token: not of the form id.secret")
	}
	join := bootstrapv1.AgentJoin{
		Version:    bootstrapv1.AgentJoinVersion,
		Token:      token,
		NodeLabels: spec.Kubelet.NodeLabels,
		Taints:     registered(spec.Kubelet.Taints),
		Files:      spec.Files,
	}
	join.Cluster.Name, join.Cluster.Server, join.Cluster.CA = cluster.Name, cluster.Server, cluster.CA

	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // files stay readable: nothing shows this in a browser
	if err := encoder.Encode(join); err != nil {
		return nil, fmt.Errorf("encoding join data: %w", err)
	}
	return out.Bytes(), nil
}

// registered leaves of each taint what a kubelet registers with.
func registered(taints []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range taints {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return out
}

func (c Cluster) validate() error {
	server, err := url.Parse(c.Server)
	switch {
	case c.Name == "":
		return errors.New("no name")
	case err != nil || server.Scheme != "https" || server.Host == "" || server.User != nil:
		return errors.New("the server is not an https URL")
	}
	if block, _ := pem.Decode(c.CA); block == nil || block.Type != "CERTIFICATE" {
		return errors.New("the CA is not a PEM certificate")
	}
	return nil
}

// Token gives the join token of data that Agent rendered, or "" for anything else.
func Token(data []byte) string {
	var join bootstrapv1.AgentJoin
	if json.Unmarshal(data, &join) != nil || join.Version != bootstrapv1.AgentJoinVersion || !tokenPattern.MatchString(join.Token) {
		return ""
	}
	return join.Token
}
