// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

var (
	digestA = "sha256:" + strings.Repeat("a", 64)
	digestB = "sha256:" + strings.Repeat("b", 64)
)

const patience = 10 * time.Second

// world is a namespace with a provisioned Cluster in it.
type world struct {
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	filter    string
}

// newWorld makes a namespace; the manager looks after its machines only with the filter "live".
func newWorld(t *testing.T, filter string) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, ctx: t.Context(), filter: filter}
	w.SetDefaultEventuallyTimeout(patience)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "machine-"}}
	w.Expect(direct.Create(w.ctx, ns)).To(Succeed())
	w.namespace = ns.Name
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "c"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "RepaveCluster", Name: "c",
		}},
	}
	w.Expect(direct.Create(w.ctx, cluster)).To(Succeed())
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	w.Expect(direct.Status().Update(w.ctx, cluster)).To(Succeed())
	return w
}

func (w *world) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.namespace, Name: name}
}

// host makes a host that is free and ready.
func (w *world) host(name string) *infrav1.RepaveHost {
	w.t.Helper()
	host := &infrav1.RepaveHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{infrav1.LabelZone: "east"}},
		Spec: infrav1.RepaveHostSpec{
			BMC:        &infrav1.BMC{Address: "https://192.0.2.1", CredentialsRef: infrav1.SecretReference{Name: "bmc"}},
			RootDevice: &infrav1.RootDevice{SerialNumber: "disk"},
		},
	}
	w.Expect(direct.Create(w.ctx, host)).To(Succeed())
	w.setHost(name, func(host *infrav1.RepaveHost) { condition(host, infrav1.ConditionReady, true, infrav1.ReasonAvailable) })
	return host
}

func condition(host *infrav1.RepaveHost, kind string, is bool, reason string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&host.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
}

// setHost plays the Host controller and the agent: it changes the status of a host.
func (w *world) setHost(name string, change func(*infrav1.RepaveHost)) {
	w.t.Helper()
	host := w.getHost(name)
	before := host.DeepCopy()
	change(host)
	w.Expect(direct.Status().Patch(w.ctx, host, client.MergeFrom(before))).To(Succeed())
}

func (w *world) getHost(name string) *infrav1.RepaveHost {
	w.t.Helper()
	host := &infrav1.RepaveHost{}
	w.Expect(direct.Get(w.ctx, w.key(name), host)).To(Succeed())
	return host
}

// install plays a host that proved the install of its claim.
func (w *world) install(name, machine string) {
	w.t.Helper()
	w.setHost(name, func(host *infrav1.RepaveHost) {
		host.Status.Installed = ProviderID(w.namespace, name, machine)
		condition(host, infrav1.ConditionReady, true, infrav1.ReasonServing)
		condition(host, infrav1.ConditionAgentConnected, true, infrav1.ReasonConnected)
		host.Status.Agent = &infrav1.AgentStatus{
			BootID: "boot-1", NodeName: w.nodeName(name), Booted: &infrav1.HostImage{Digest: digestA},
			Install:   &infrav1.InstallMark{Order: "1.1", Digest: digestA},
			Addresses: []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "192.0.2.7"}},
		}
	})
}

// powerOff plays the Host controller at the end of a claim.
func (w *world) powerOff(name string) {
	w.t.Helper()
	host := w.getHost(name)
	before := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.AnnotationRecord,
		lifecycle.Record{Release: &lifecycle.Release{At: metav1.Now(), Done: true}}.Encode())
	w.Expect(direct.Patch(w.ctx, host, client.MergeFrom(before))).To(Succeed())
	w.setHost(name, func(host *infrav1.RepaveHost) { host.Status.Installed = "" })
}

// machine makes a RepaveMachine with the Machine that owns it.
func (w *world) machine(name string, change ...func(*infrav1.RepaveMachine, *clusterv1.Machine)) {
	w.t.Helper()
	owner := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: clusterv1.MachineSpec{
			ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "RepaveMachine", Name: name},
		},
	}
	machine := &infrav1.RepaveMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{
			clusterv1.ClusterNameLabel: "c", clusterv1.WatchLabel: w.filter,
		}},
		Spec: infrav1.RepaveMachineSpec{
			Image:   &infrav1.Image{Ref: "registry.example/os@" + digestA},
			Netboot: &infrav1.Netboot{Image: infrav1.Image{Ref: "registry.example/netboot@" + digestA}},
		},
	}
	for _, c := range change {
		c(machine, owner)
	}
	w.Expect(direct.Create(w.ctx, owner)).To(Succeed())
	machine.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Machine"))}
	w.Expect(direct.Create(w.ctx, machine)).To(Succeed())
}

func (w *world) getMachine(name string) *infrav1.RepaveMachine {
	w.t.Helper()
	machine := &infrav1.RepaveMachine{}
	w.Expect(direct.Get(w.ctx, w.key(name), machine)).To(Succeed())
	return machine
}

// claims gives the names of the hosts of a machine.
func (w *world) claims(machine string) []string {
	hosts := &infrav1.RepaveHostList{}
	w.Expect(direct.List(w.ctx, hosts, client.InNamespace(w.namespace))).To(Succeed())
	claims := []string{}
	for i := range hosts.Items {
		if ref := hosts.Items[i].Spec.ClaimRef; ref != nil && ref.Name == machine {
			claims = append(claims, hosts.Items[i].Name)
		}
	}
	return claims
}

// why gives status and reason of a condition of a machine.
func (w *world) why(machine, kind string) string {
	found := meta.FindStatusCondition(w.getMachine(machine).Status.Conditions, kind)
	if found == nil {
		return ""
	}
	return string(found.Status) + " " + found.Reason
}

func (w *world) nodeName(host string) string { return w.namespace + "-" + host }

// node makes the Node of a machine, ready.
func (w *world) node(host, machine string) {
	w.t.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: w.nodeName(host)},
		Spec:       corev1.NodeSpec{ProviderID: ProviderID(w.namespace, host, machine)},
	}
	w.Expect(direct.Create(w.ctx, node)).To(Succeed())
	w.setNode(host, true, "boot-1")
	w.untaint(host)
}

// untaint plays the node lifecycle controller, so that the Node is like any other.
func (w *world) untaint(host string) {
	node := w.getNode(host)
	node.Spec.Taints = nil
	w.Expect(direct.Update(w.ctx, node)).To(Succeed())
}

// setNode plays the kubelet.
func (w *world) setNode(host string, ready bool, bootID string) {
	w.t.Helper()
	node := w.getNode(host)
	before := node.DeepCopy()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	node.Status.NodeInfo.BootID = bootID
	w.Expect(direct.Status().Patch(w.ctx, node, client.MergeFrom(before))).To(Succeed())
}

func (w *world) getNode(host string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{}
	w.Expect(direct.Get(w.ctx, client.ObjectKey{Name: w.nodeName(host)}, node)).To(Succeed())
	return node
}
