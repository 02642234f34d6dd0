// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// HostColumns say which columns a table of hosts has.
type HostColumns struct {
	Namespace bool // of each host, first
	Wide      bool // digests, BMC, agent and age too
}

// Heading gives the headings.
func (c HostColumns) Heading() []string {
	heading := []string{"NAME", "PHASE", "MACHINE", "NODE", "POWER", "BOOTED", "STAGED", "OPERATION", "READY"}
	if c.Wide {
		heading = append(heading, "DIGEST", "AGENT", "BMC", "AGE")
	}
	if c.Namespace {
		heading = append([]string{"NAMESPACE"}, heading...)
	}
	return append(heading, "WHY")
}

// Row gives the cells of one host.
func (c HostColumns) Row(host *infrav1.RepaveHost, now time.Time) []string {
	status := &host.Status
	agent := status.Agent
	if agent == nil {
		agent = &infrav1.AgentStatus{}
	}
	var machine, node string
	if host.Spec.ClaimRef != nil {
		machine = host.Spec.ClaimRef.Name
	}
	if status.NodeRef != nil {
		node = status.NodeRef.Name
	}
	row := []string{host.Name, string(status.Phase), machine, node, string(status.Power), Image(agent.Booted), Image(agent.Staged), operation(status.Operation), ready(status.Conditions)}
	if c.Wide {
		row = append(row, Digest(digestOf(agent.Booted)), agentSummary(status), bmcSummary(host), age(host.CreationTimestamp, now))
	}
	if c.Namespace {
		row = append([]string{host.Namespace}, row...)
	}
	return append(row, Why(status.Conditions, infrav1.ConditionReady))
}

// Why gives reason and message of a condition, "" where it is not there.
func Why(conditions []metav1.Condition, kind string) string {
	condition := meta.FindStatusCondition(conditions, kind)
	switch {
	case condition == nil:
		return ""
	case condition.Message == "":
		return condition.Reason
	}
	return Plain(condition.Reason + ": " + condition.Message)
}

// Image names an image on a host for people: its version, else the beginning of its digest.
func Image(image *infrav1.HostImage) string {
	if image == nil {
		return ""
	}
	if image.Version != "" {
		return image.Version
	}
	return Digest(image.Digest)
}

// Digest gives the beginning of a digest, long enough to tell images apart.
func Digest(digest string) string {
	const most = 12
	algorithm, hex, found := strings.Cut(digest, ":")
	if !found || len(hex) <= most {
		return digest
	}
	return algorithm + ":" + hex[:most]
}

func digestOf(image *infrav1.HostImage) string {
	if image == nil {
		return ""
	}
	return image.Digest
}

func operation(op *infrav1.Operation) string {
	if op == nil {
		return ""
	}
	text := fmt.Sprintf("%s/%s", op.Kind, op.Step)
	if op.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", op.Attempt)
	}
	return text
}

func ready(conditions []metav1.Condition) string {
	if condition := meta.FindStatusCondition(conditions, infrav1.ConditionReady); condition != nil {
		return string(condition.Status)
	}
	return string(metav1.ConditionUnknown)
}

func agentSummary(status *infrav1.RepaveHostStatus) string {
	connected := meta.FindStatusCondition(status.Conditions, infrav1.ConditionAgentConnected)
	if connected == nil {
		return ""
	}
	return connected.Reason
}

func bmcSummary(host *infrav1.RepaveHost) string {
	if host.Spec.BMC == nil {
		return ""
	}
	return host.Spec.BMC.Address
}

func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(since.Time))
}
