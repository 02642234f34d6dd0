// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// Kubelet says how a host's Node registers: the content of KubeletPath.
type Kubelet struct {
	NodeName   string            `json:"nodeName"`
	ProviderID string            `json:"providerID"`
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	Taints     []corev1.Taint    `json:"taints,omitempty"`
}

// KubeletOf puts together what all hosts of a config share and what is one host's own.
func KubeletOf(data bootstrapv1.AgentJoin, join goal.Join) Kubelet {
	return Kubelet{NodeName: join.NodeName, ProviderID: join.ProviderID, NodeLabels: data.NodeLabels, Taints: data.Taints}
}

// Flags gives the kubelet's flags, in a stable order.
func (k Kubelet) Flags() []string {
	flags := []string{"--hostname-override=" + k.NodeName}
	if k.ProviderID != "" {
		flags = append(flags, "--provider-id="+k.ProviderID)
	}
	if len(k.NodeLabels) > 0 {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(k.NodeLabels)) {
			labels = append(labels, key+"="+k.NodeLabels[key])
		}
		flags = append(flags, "--node-labels="+strings.Join(labels, ","))
	}
	if len(k.Taints) > 0 {
		var taints []string
		for i := range k.Taints {
			taints = append(taints, fmt.Sprintf("%s=%s:%s", k.Taints[i].Key, k.Taints[i].Value, k.Taints[i].Effect))
		}
		flags = append(flags, "--register-with-taints="+strings.Join(taints, ","))
	}
	return append(flags, "--bootstrap-kubeconfig=/"+BootstrapPath, "--kubeconfig=/etc/kubernetes/kubelet.conf")
}

// kubeconfig renders the bootstrap kubeconfig. JSON is YAML, and its order is stable.
func kubeconfig(data bootstrapv1.AgentJoin) ([]byte, error) {
	const user = "kubelet-bootstrap"
	name := data.Cluster.Name
	if name == "" {
		name = "cluster"
	}
	config := clientcmdv1.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters: []clientcmdv1.NamedCluster{{Name: name, Cluster: clientcmdv1.Cluster{
			Server: data.Cluster.Server, CertificateAuthorityData: data.Cluster.CA,
		}}},
		AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: user, AuthInfo: clientcmdv1.AuthInfo{Token: data.Token}}},
		Contexts:  []clientcmdv1.NamedContext{{Name: name, Context: clientcmdv1.Context{Cluster: name, AuthInfo: user}}},
	}
	raw, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding bootstrap kubeconfig: %w", err)
	}
	return append(raw, '\n'), nil
}
