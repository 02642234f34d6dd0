// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// Facts is what is told of a host beside the goal.
type Facts struct {
	Version   string
	Driver    string
	BootID    string
	NodeName  string
	Addresses []clusterv1.MachineAddress
	Images    step.Status
	Install   orderv1.Install
}

// Status puts together the agent's part of a host's status.
func Status(f Facts, g goal.Goal) infrav1.AgentStatus {
	status := infrav1.AgentStatus{
		Version:   f.Version,
		Driver:    f.Driver,
		BootID:    f.BootID,
		NodeName:  f.NodeName,
		Addresses: f.Addresses,
		Booted:    image(f.Images.Booted),
		Staged:    image(f.Images.Staged),
		Rollback:  image(f.Images.Rollback),
		Activity:  g.Activity,
		Failure:   g.Failure,
	}
	if f.Install.Order != "" {
		status.Install = &infrav1.InstallMark{Order: f.Install.Order, Digest: f.Install.Digest}
	}
	return status
}

func image(i *step.Image) *infrav1.HostImage {
	if i == nil || i.Digest == "" {
		return nil
	}
	return &infrav1.HostImage{Ref: i.Ref, Digest: i.Digest, Version: i.Version}
}
