// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// InvalidSpecError says what a person must change in the spec of a RepaveConfig.
type InvalidSpecError struct {
	Field   string // path below spec
	Problem string
}

func (e *InvalidSpecError) Error() string { return fmt.Sprintf("spec.%s: %s", e.Field, e.Problem) }

// Validate finds what the schema cannot: labels and taints that the API server or the kubelet itself would refuse, which would show
// only on a host that never becomes a Node. Of several problems it names the first by field and key, so that equal specs give
// equal messages.
func Validate(spec bootstrapv1.RepaveConfigSpec) error {
	if spec.Format != "" && spec.Format != bootstrapv1.FormatAgent {
		return &InvalidSpecError{"format", fmt.Sprintf("%q is not known", spec.Format)}
	}
	keys := make([]string, 0, len(spec.Kubelet.NodeLabels))
	for key := range spec.Kubelet.NodeLabels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if problem := labelProblem(key, spec.Kubelet.NodeLabels[key]); problem != "" {
			return &InvalidSpecError{fmt.Sprintf("kubelet.nodeLabels[%s]", key), problem}
		}
	}
	seen := map[string]bool{}
	for i, taint := range spec.Kubelet.Taints {
		problem := taintProblem(taint)
		if identity := taint.Key + ":" + string(taint.Effect); problem == "" && seen[identity] {
			problem = identity + " is there twice"
		} else {
			seen[identity] = true
		}
		if problem != "" {
			return &InvalidSpecError{fmt.Sprintf("kubelet.taints[%d]", i), problem}
		}
	}
	return nil
}

// hostname is particular to one host, and the kubelet sets it without being asked.
const hostname = "kubernetes.io/hostname"

// own are the labels in the Kubernetes namespaces that a kubelet may set on its own Node, beside those under ownDomains. Source:
// k8s.io/kubelet/pkg/apis, which the kubelet's --node-labels and the NodeRestriction admission plugin both go by.
var own = []string{
	"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
	"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
	"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
	"kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

var ownDomains = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}

// labelProblem says why a kubelet cannot register with a label; "" if it can.
func labelProblem(key, value string) string {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return strings.Join(problems, "; ")
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return strings.Join(problems, "; ")
	}
	domain, _, qualified := strings.Cut(key, "/")
	switch {
	case key == hostname:
		return "it is particular to one host; the kubelet sets it by itself"
	case !qualified || !within(domain, "kubernetes.io") && !within(domain, "k8s.io"):
		return ""
	case slices.Contains(own, key), slices.ContainsFunc(ownDomains, func(d string) bool { return within(domain, d) }):
		return ""
	case domain == "node-role.kubernetes.io":
		return "a kubelet may not give itself a role; put this label on the machines' template, Cluster API copies it to the Nodes"
	}
	return "a kubelet may not set this label on its own Node"
}

// within says whether a domain is parent or below it.
func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

// taintProblem says why a kubelet cannot register with a taint; "" if it can.
func taintProblem(taint corev1.Taint) string {
	if problems := validation.IsQualifiedName(taint.Key); len(problems) > 0 {
		return "key: " + strings.Join(problems, "; ")
	}
	if problems := validation.IsValidLabelValue(taint.Value); len(problems) > 0 {
		return "value: " + strings.Join(problems, "; ")
	}
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return ""
	}
	return fmt.Sprintf("effect %q is not one of NoSchedule, PreferNoSchedule, NoExecute", taint.Effect)
}
