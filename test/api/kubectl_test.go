// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/cluster-api/util/contract"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// kinds that the project serves. A CRD that is new or gone shows here first.
var kinds = []string{
	"RepaveCluster", "RepaveClusterTemplate", "RepaveConfig", "RepaveConfigTemplate", "RepaveHost",
	"RepaveMachine", "RepaveMachinePool", "RepaveMachinePoolTemplate", "RepaveMachineTemplate",
}

// TestContractOfCRDs: what Cluster API and clusterctl look for in a CRD.
func TestContractOfCRDs(t *testing.T) {
	g := NewWithT(t)
	found := crds(t)
	var names []string
	for kind, crd := range found {
		names = append(names, kind)
		g.Expect(crd.Name).To(Equal(contract.CalculateCRDName(crd.Spec.Group, kind)))
		g.Expect(crd.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1alpha1"), kind)
		g.Expect(string(crd.Spec.Scope)).To(Equal("Namespaced"), kind)
		g.Expect(crd.Spec.Names.Categories).To(ContainElement("cluster-api"), kind)
		g.Expect(crd.Spec.Versions).To(HaveLen(1), kind)
		hasStatus := crd.Spec.Versions[0].Subresources != nil && crd.Spec.Versions[0].Subresources.Status != nil
		g.Expect(hasStatus).To(Equal(!strings.HasSuffix(kind, "Template")), "%s: a status is a subresource, and templates have none", kind)
		if conditions, ok := schema(crd).Properties["status"].Properties["conditions"]; ok {
			g.Expect(conditions.XListType).To(HaveValue(Equal("map")), kind)
			g.Expect(conditions.XListMapKeys).To(Equal([]string{"type"}), kind)
		} else {
			g.Expect(hasStatus).To(BeFalse(), "%s has a status without conditions", kind)
		}
	}
	slices.Sort(names)
	g.Expect(names).To(Equal(kinds))
	// Hosts belong to no Cluster by owner reference; without this label clusterctl move leaves them behind.
	g.Expect(found["RepaveHost"].Labels).To(HaveKey("clusterctl.cluster.x-k8s.io/move-hierarchy"))
}

// TestShortNames: what kubectl get rhost,rmach,rpool asks for.
func TestShortNames(t *testing.T) {
	g := NewWithT(t)
	d, err := discovery.NewDiscoveryClientForConfig(shared.ControlPlane(t).RESTConfig())
	g.Expect(err).NotTo(HaveOccurred())
	served, err := d.ServerResourcesForGroupVersion(infrav1.GroupVersion.String())
	g.Expect(err).NotTo(HaveOccurred())
	short := map[string]string{}
	for _, resource := range served.APIResources {
		for _, name := range resource.ShortNames {
			g.Expect(short).NotTo(HaveKey(name), "two kinds of one short name")
			short[name] = resource.Kind
		}
	}
	g.Expect(short).To(Equal(map[string]string{"rhost": "RepaveHost", "rmach": "RepaveMachine", "rpool": "RepaveMachinePool"}))
}

// table is what kubectl get shows of one object, -o wide included.
func (p *person) table(resource, name string) map[string]string {
	p.t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(shared.ControlPlane(p.t).RESTConfig())
	p.Expect(err).NotTo(HaveOccurred())
	answer, err := d.RESTClient().Get().AbsPath("apis", infrav1.GroupVersion.Group, infrav1.GroupVersion.Version, "namespaces", p.namespace, resource, name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(p.t.Context()).Raw()
	p.Expect(err).NotTo(HaveOccurred())
	var table metav1.Table
	p.Expect(json.Unmarshal(answer, &table)).To(Succeed())
	p.Expect(table.Rows).To(HaveLen(1))
	cells := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		if column.Name == "Age" {
			continue // as old as the test
		}
		if cell := table.Rows[0].Cells[i]; cell != nil {
			cells[column.Name] = fmt.Sprint(cell)
		} else {
			cells[column.Name] = ""
		}
	}
	return cells
}

// TestPrinterColumns: what runs where, how far, and why not.
func TestPrinterColumns(t *testing.T) {
	p := newPerson(t)
	for _, c := range []struct {
		kind, resource, content string
		want                    map[string]string
	}{
		{"RepaveHost", "repavehosts", `
metadata: {name: r12}
spec: {claimRef: {name: workers-1, uid: u}}
status:
  phase: Repaving
  power: "On"
  operation: {id: a, kind: Repave, method: Netboot, step: Installing, attempt: 1, startedAt: "2026-05-04T12:00:00Z", stepAt: "2026-05-04T12:00:00Z", deadline: "2026-05-04T12:00:00Z"}
  agent: {booted: {digest: d, version: "1.0"}}
  conditions: [{type: Ready, status: "False", reason: Repaving, message: repave 3, lastTransitionTime: "2026-05-04T12:00:00Z"}]`,
			map[string]string{"Name": "r12", "Phase": "Repaving", "Machine": "workers-1", "Power": "On", "Booted": "1.0", "Operation": "Repave", "Ready": "False", "Why": "Repaving", "Message": "repave 3"}},
		{"RepaveMachine", "repavemachines", `
metadata: {name: workers-1, labels: {cluster.x-k8s.io/cluster-name: my}}
spec: {providerID: "repave://ns/r12/workers-1", image: {ref: r.example/os@DIGEST}}
status:
  hostRef: {name: r12}
  nodeRef: {name: n12}
  image: {booted: {digest: d, version: "1.0"}}
  update: {digest: d2, step: Draining, stepAt: "2026-05-04T12:00:00Z"}
  conditions: [{type: Ready, status: "True", reason: Draining, message: 2 pods left, lastTransitionTime: "2026-05-04T12:00:00Z"}]`,
			map[string]string{"Name": "workers-1", "Cluster": "my", "Host": "r12", "Node": "n12", "Booted": "1.0", "Update": "Draining", "Ready": "True", "Why": "Draining", "ProviderID": "repave://ns/r12/workers-1", "Message": "2 pods left"}},
		{"RepaveMachinePool", "repavemachinepools", `
metadata: {name: workers}
spec: {template: {spec: {image: {ref: r.example/os@DIGEST}}}}
status:
  replicas: 5
  readyReplicas: 4
  upToDateReplicas: 3
  updatingReplicas: 1
  degradedReplicas: 0
  conditions: [{type: UpToDate, status: "False", reason: RolloutInProgress, message: 3/5 updated, lastTransitionTime: "2026-05-04T12:00:00Z"}]`,
			map[string]string{"Name": "workers", "Replicas": "5", "Ready": "4", "UpToDate": "3", "Updating": "1", "Degraded": "0", "Rollout": "RolloutInProgress", "Message": "3/5 updated"}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			p := &person{WithT: NewWithT(t), t: t, namespace: p.namespace, client: p.client}
			o := p.object(c.kind, c.content)
			o.SetNamespace(p.namespace)
			status := o.Object["status"]
			p.Expect(p.client.Create(t.Context(), o)).To(Succeed())
			o.Object["status"] = status
			p.Expect(p.client.Status().Update(t.Context(), o)).To(Succeed())
			if diff := cmp.Diff(c.want, p.table(c.resource, o.GetName())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
