// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubelet is the small part of a kubelet that a rollout can see: it joins by TLS bootstrap, registers its Node with provider
// ID, labels and taints, reports Ready with the boot it runs in, and lets pods of its Node run and end.
type kubelet struct {
	root   string // of the host
	bootID string
	image  *Image
}

// kubeletSettings is what the agent leaves for the kubelet.
type kubeletSettings struct {
	NodeName   string            `json:"nodeName"`
	ProviderID string            `json:"providerID"`
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	Taints     []corev1.Taint    `json:"taints,omitempty"`
}

const (
	bootstrapKubeconfig = "etc/kubernetes/bootstrap-kubelet.conf"
	settingsFile        = "etc/kubernetes/repave-kubelet.json"
	kubeletCertificate  = "var/lib/kubelet/pki/kubelet-client.pem"
	nodeReport          = 10 * time.Second
)

// run is the life of the kubelet for one boot: it waits for its settings, joins, and reports until the context ends.
func (k *kubelet) run(ctx context.Context) error {
	settings, bootstrap, err := k.settings(ctx)
	if err != nil {
		return err
	}
	config, err := k.clientConfig(ctx, bootstrap, settings.NodeName)
	if err != nil {
		return fmt.Errorf("joining as %s: %w", settings.NodeName, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("joining as %s: %w", settings.NodeName, err)
	}
	pods := &podRunner{client: client, node: settings.NodeName}
	go pods.run(ctx)
	return wait.PollUntilContextCancel(ctx, nodeReport, true, func(ctx context.Context) (bool, error) {
		err := retry(ctx, func() error { return k.report(ctx, client, settings) })
		return false, ignoreTransient(err)
	})
}

// settings waits for the files that the agent writes when the host may join.
func (k *kubelet) settings(ctx context.Context) (kubeletSettings, *rest.Config, error) {
	var settings kubeletSettings
	var config *rest.Config
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		raw, err := os.ReadFile(filepath.Join(k.root, settingsFile))
		if err != nil {
			return false, nil // not yet
		}
		if err := json.Unmarshal(raw, &settings); err != nil {
			return false, fmt.Errorf("reading %s: %w", settingsFile, err)
		}
		config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(k.root, bootstrapKubeconfig))
		return err == nil, nil
	})
	if err != nil {
		return settings, nil, fmt.Errorf("waiting for the settings of the kubelet: %w", err)
	}
	return settings, config, nil
}

// report registers the Node or brings its status up to date.
func (k *kubelet) report(ctx context.Context, client kubernetes.Interface, s kubeletSettings) error {
	node, err := client.CoreV1().Nodes().Get(ctx, s.NodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = client.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: s.NodeName, Labels: s.NodeLabels},
			Spec:       corev1.NodeSpec{ProviderID: s.ProviderID, Taints: s.Taints},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("registering Node %s: %w", s.NodeName, err)
	}
	if node.Spec.ProviderID != s.ProviderID {
		// As a kubelet whose Node belongs to another provider ID: the Node of an earlier claim must go first.
		return fmt.Errorf("the Node %s has another provider ID", s.NodeName)
	}
	node.Status.NodeInfo = corev1.NodeSystemInfo{BootID: k.bootID, KubeletVersion: "v1.36.4", OperatingSystem: "linux", Architecture: "amd64", OSImage: k.image.Version}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: *podCapacity}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.Conditions = healthy()
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("reporting Node %s: %w", s.NodeName, err)
	}
	return nil
}

// healthy are the conditions of a Node whose kubelet has nothing to complain of.
func healthy() []corev1.NodeCondition {
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: "as the simulated kubelet sees it", LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
	}
}

// retry repeats on conflicts: the Node has other writers.
func retry(ctx context.Context, act func() error) error {
	for {
		err := act()
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return err
		}
	}
}

// ignoreTransient keeps the kubelet alive through what a kubelet survives: only the end of its life ends it.
func ignoreTransient(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
