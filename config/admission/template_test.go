// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

func TestTemplatesNeverChange(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "a", GenerateName: "t-"}
	machine := &infrav1.RepaveMachineTemplate{ObjectMeta: meta}
	machine.Spec.Template.Spec.Image = &infrav1.Image{Ref: "registry.example/os@" + digest}
	cluster := &infrav1.RepaveClusterTemplate{ObjectMeta: meta}
	cluster.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
	config := &bootstrapv1.RepaveConfigTemplate{ObjectMeta: meta}
	empty := &bootstrapv1.RepaveConfigTemplate{ObjectMeta: meta, Spec: bootstrapv1.RepaveConfigTemplateSpec{
		Template: bootstrapv1.RepaveConfigTemplateResource{ObjectMeta: bootstrapv1.TemplateMeta{Labels: map[string]string{"a": "b"}}},
	}}
	config.Spec.Template.Spec.Files = []bootstrapv1.File{{Path: "/etc/a", Content: "old"}}
	for name, c := range map[string]struct {
		object client.Object
		change string
	}{
		"machine":             {machine, `{"image":{"ref":"registry.example/other@` + digest + `"}}`},
		"machine, one more":   {machine, `{"drain":{"force":true}}`},
		"cluster, from empty": {cluster, `{"controlPlaneEndpoint":{"host":"new.example","port":6443}}`},
		"config":              {config, `{"files":[{"path":"/etc/a","content":"new"}]}`},
		"config, from empty":  {empty, `{"files":[{"path":"/etc/a","content":"new"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			object := c.object.DeepCopyObject().(client.Object)
			g := NewWithT(t)
			ctx := context.Background()
			g.Expect(admin.Create(ctx, object)).To(Succeed())
			change := merge(`{"spec":{"template":{"spec":` + c.change + `}}}`)
			awaitPolicy(t, func() error { return admin.Patch(ctx, copyOf(object), change, client.DryRunAll) })

			err := admin.Patch(ctx, copyOf(object), change)
			g.Expect(err).To(MatchError(ContainSubstring("Make a new template with another name")))
			// A label of the template object itself is no change of the machines.
			g.Expect(admin.Patch(ctx, copyOf(object), merge(`{"metadata":{"labels":{"team":"a"}}}`))).To(Succeed())

			dryRun := merge(`{"metadata":{"annotations":{"` + clusterv1.TopologyDryRunAnnotation + `":""}},"spec":{"template":{"spec":` + c.change + `}}}`)
			g.Expect(admin.Patch(ctx, copyOf(object), dryRun, client.DryRunAll)).To(Succeed())
			// The annotation alone opens nothing, and neither does a dry run of somebody else.
			g.Expect(admin.Patch(ctx, copyOf(object), dryRun)).To(Satisfy(deniedByPolicy))
			g.Expect(admin.Patch(ctx, copyOf(object), change, client.DryRunAll)).To(Satisfy(deniedByPolicy))
		})
	}
}

// copyOf names an object for a patch, so that the answer does not overwrite the original.
func copyOf(object client.Object) client.Object {
	out := &unstructured.Unstructured{}
	gvk, err := admin.GroupVersionKindFor(object)
	if err != nil {
		panic(err)
	}
	out.SetGroupVersionKind(gvk)
	out.SetNamespace(object.GetNamespace())
	out.SetName(object.GetName())
	return out
}
