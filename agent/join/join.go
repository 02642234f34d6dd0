// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// Paths on the host.
const (
	CAPath        = "etc/kubernetes/pki/ca.crt"
	KubeletPath   = "etc/kubernetes/repave-kubelet.json"
	FlagsPath     = "etc/kubernetes/kubelet.d/20-repave.env"
	BootstrapPath = "etc/kubernetes/bootstrap-kubelet.conf"
)

// ownFolder is the agent's: bootstrap data has no business there.
const ownFolder = "etc/repave/"

// Files is the part of a host that is written.
type Files interface {
	Exists(name string) bool
	WriteFile(name string, content []byte, mode fs.FileMode) error
}

// Secrets reads the bootstrap data.
type Secrets interface {
	Secret(ctx context.Context, name string) (map[string][]byte, error)
}

// Joiner writes joins on one host.
type Joiner struct {
	Files   Files
	Secrets Secrets
}

// Joined says whether the files of a join are there.
func (j *Joiner) Joined(goal.Join) bool {
	for _, name := range []string{CAPath, KubeletPath, FlagsPath, BootstrapPath} {
		if !j.Files.Exists(name) {
			return false
		}
	}
	return true
}

// Join writes the files. Files that are right already are not touched.
func (j *Joiner) Join(ctx context.Context, join goal.Join) error {
	secret, err := j.Secrets.Secret(ctx, join.Secret)
	if err != nil {
		return fmt.Errorf("reading bootstrap data: %w", err)
	}
	data, err := Parse(secret)
	if err != nil {
		return err
	}
	return write(j.Files, data, KubeletOf(data, join))
}

// Parse reads the bootstrap data of a Secret. Errors do not quote it: it holds the token.
func Parse(secret map[string][]byte) (bootstrapv1.AgentJoin, error) {
	var data bootstrapv1.AgentJoin
	if format := string(secret[bootstrapv1.SecretFormatKey]); format != "" && !strings.EqualFold(format, string(bootstrapv1.FormatAgent)) {
		return data, fmt.Errorf("reading bootstrap data: format %q is not for the agent", format)
	}
	if err := json.Unmarshal(secret[bootstrapv1.SecretKey], &data); err != nil {
		return data, errors.New("reading bootstrap data: it is not the JSON of an AgentJoin")
	}
	switch {
	case data.Version != bootstrapv1.AgentJoinVersion:
		return data, fmt.Errorf("reading bootstrap data: unknown version %q", data.Version)
	case data.Cluster.Server == "" || len(data.Cluster.CA) == 0 || data.Token == "":
		return data, errors.New("reading bootstrap data: server, CA or token is missing")
	}
	return data, nil
}

func write(files Files, data bootstrapv1.AgentJoin, kubelet Kubelet) error {
	for _, file := range data.Files {
		if err := writeConfigured(files, file); err != nil {
			return err
		}
	}
	description, err := json.MarshalIndent(kubelet, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding kubelet description: %w", err)
	}
	bootstrap, err := kubeconfig(data)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		content []byte
		mode    fs.FileMode
	}{
		{CAPath, data.Cluster.CA, 0o644},
		{KubeletPath, append(description, '\n'), 0o644},
		{FlagsPath, []byte("REPAVE_KUBELET_ARGS=" + strconv.Quote(strings.Join(kubelet.Flags(), " ")) + "\n"), 0o644},
		{BootstrapPath, bootstrap, 0o600},
	} {
		if err := files.WriteFile(file.name, file.content, file.mode); err != nil {
			return err
		}
	}
	return nil
}

// writeConfigured writes a file of the RepaveConfig.
func writeConfigured(files Files, file bootstrapv1.File) error {
	name := strings.TrimPrefix(path.Clean(file.Path), "/")
	if !path.IsAbs(file.Path) || strings.HasPrefix(name+"/", ownFolder) {
		return fmt.Errorf("writing file %s: not a path that bootstrap data may write", file.Path)
	}
	mode := fs.FileMode(0o644)
	if file.Permissions != "" {
		bits, err := strconv.ParseUint(file.Permissions, 8, 9)
		if err != nil {
			return fmt.Errorf("writing file %s: permissions %q are not octal", file.Path, file.Permissions)
		}
		mode = fs.FileMode(bits)
	}
	return files.WriteFile(name, []byte(file.Content), mode)
}
