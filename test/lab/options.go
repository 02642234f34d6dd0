// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Options say what a control plane is made of. The zero value is a temporary etcd and kube-apiserver.
type Options struct {
	// BinDir holds the binaries. Default: bin/ beside the go.mod found by walking up from the working directory.
	BinDir string
	// Dir keeps state, certificates and logs; it is made when missing, must not be shared by two labs that run, and
	// survives Stop. Its etcd data is wiped at the start. Default: a temporary directory that Stop removes.
	Dir string
	// Log receives one line per step, with the time it took. Default: nothing is written.
	Log io.Writer
	// CRDDirs are folders whose CRD files are installed as soon as the API server answers.
	CRDDirs []string
	// ControllerManager starts kube-controller-manager too: garbage collection, namespace deletion, CSR signing,
	// service accounts. Without it pods need no ServiceAccount, and a deleted namespace stays in Terminating.
	ControllerManager bool
	// ClusterAPIFeatureGates is what StartClusterAPI passes on. Default: MachinePool=true.
	ClusterAPIFeatureGates string
}

// complete fills in the defaults that need no directory of their own.
func (o Options) complete() (Options, error) {
	if o.BinDir == "" {
		root, err := moduleRoot()
		if err != nil {
			return o, fmt.Errorf("finding bin: %w", err)
		}
		o.BinDir = filepath.Join(root, "bin")
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.ClusterAPIFeatureGates == "" {
		o.ClusterAPIFeatureGates = "MachinePool=true"
	}
	return o, nil
}

// binary is the path of a program in BinDir.
func (o Options) binary(name string) (string, error) {
	path := filepath.Join(o.BinDir, name)
	if _, err := exec.LookPath(path); err != nil {
		return "", fmt.Errorf("finding %s: %w: run make controlplane", name, err)
	}
	return path, nil
}

// moduleRoot is the closest folder with a go.mod, from the working directory upwards.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in the working directory or above it")
		}
		dir = parent
	}
}
