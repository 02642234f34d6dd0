// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/repave-io/cluster-api-provider-repave/agent/host"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// ParseConfig reads the agent's configuration. Errors never quote it: it may hold a credential.
func ParseConfig(raw []byte) (orderv1.AgentConfig, error) {
	var config orderv1.AgentConfig
	if err := json.Unmarshal(raw, &config); err != nil {
		return config, errors.New("reading configuration: it is not the JSON of an AgentConfig")
	}
	server, err := url.Parse(config.APIServer.URL)
	switch {
	case config.Version != orderv1.AgentConfigVersion:
		return config, errors.New("reading configuration: its version is not " + orderv1.AgentConfigVersion)
	case config.Host.Namespace == "" || config.Host.Name == "":
		return config, errors.New("reading configuration: it names no host")
	case err != nil || server.Scheme != "https" || server.Host == "":
		return config, errors.New("reading configuration: apiServer.url is not an https URL")
	case !x509.NewCertPool().AppendCertsFromPEM(config.APIServer.CA):
		return config, errors.New("reading configuration: apiServer.ca holds no certificate")
	case config.Enrolment != nil && (config.Enrolment.URL == "" || config.Enrolment.Credential == ""):
		return config, errors.New("reading configuration: enrolment lacks url or credential")
	}
	return config, nil
}

func loadConfig(h *host.Host) (orderv1.AgentConfig, error) {
	raw, err := h.ReadFile(orderv1.AgentConfigPath)
	if err != nil {
		return orderv1.AgentConfig{}, fmt.Errorf("reading configuration: %w", err)
	}
	return ParseConfig(raw)
}

// eraseCredential takes the used credential off the disk.
func eraseCredential(h *host.Host, config orderv1.AgentConfig) error {
	if config.Enrolment == nil {
		return nil
	}
	config.Enrolment = nil
	raw, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding configuration: %w", err)
	}
	if err := h.WriteFile(orderv1.AgentConfigPath, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("erasing used credential: %w", err)
	}
	return nil
}
