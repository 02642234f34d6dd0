// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fieldManager owns what the lab applies.
	fieldManager = "lab"
	// establishDeadline bounds the wait for the API server to serve new CRDs.
	establishDeadline = 30 * time.Second
	// parallelCRDs is how many CRDs are applied at a time.
	parallelCRDs = 8
)

// InstallCRDs applies every CRD in the *.yaml files of the folders and waits until all are served. A folder without any is
// an error: it is a wrong path.
func (c *ControlPlane) InstallCRDs(ctx context.Context, dirs ...string) error {
	var crds []*unstructured.Unstructured
	for _, dir := range dirs {
		found, err := readCRDs(dir)
		if err != nil {
			return fmt.Errorf("reading CRDs of %s: %w", dir, err)
		}
		crds = append(crds, found...)
	}
	if len(crds) == 0 {
		return nil
	}
	group, applying := errgroup.WithContext(ctx)
	group.SetLimit(parallelCRDs)
	for _, crd := range crds {
		group.Go(func() error { return c.apply(applying, crd) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.awaitEstablished(ctx, crds); err != nil {
		return err
	}
	c.say("%d CRDs established", len(crds))
	return nil
}

// Apply applies every object of a manifest by server-side apply with the field manager "lab", in the order of the
// documents, taking over fields of others. CRDs are served before the next object is tried; namespaced objects without a
// namespace go to "default", as with kubectl.
func (c *ControlPlane) Apply(ctx context.Context, manifest []byte) error {
	objects, err := decode(manifest)
	if err != nil {
		return fmt.Errorf("reading manifest: %w", err)
	}
	for _, object := range objects {
		if err := c.apply(ctx, object); err != nil {
			return err
		}
		if isCRD(object) {
			if err := c.awaitEstablished(ctx, []*unstructured.Unstructured{object}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *ControlPlane) apply(ctx context.Context, object *unstructured.Unstructured) error {
	namespaced, err := c.client.IsObjectNamespaced(object)
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if namespaced && object.GetNamespace() == "" {
		object.SetNamespace(corev1.NamespaceDefault)
	}
	desired := client.ApplyConfigurationFromUnstructured(object)
	if err := c.client.Apply(ctx, desired, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// awaitEstablished waits until the API server serves every one of the CRDs.
func (c *ControlPlane) awaitEstablished(ctx context.Context, crds []*unstructured.Unstructured) error {
	for _, crd := range crds {
		seen := crd.DeepCopy()
		err := wait.PollUntilContextTimeout(ctx, probeInterval, establishDeadline, true, func(ctx context.Context) (bool, error) {
			if err := c.client.Get(ctx, client.ObjectKeyFromObject(crd), seen); err != nil {
				return false, err
			}
			return established(seen), nil
		})
		if err != nil {
			return fmt.Errorf("waiting for CRD %s to be established: %w", crd.GetName(), err)
		}
	}
	return nil
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return err == nil && slices.ContainsFunc(conditions, func(entry any) bool {
		condition, ok := entry.(map[string]any)
		return ok && condition["type"] == "Established" && condition["status"] == "True"
	})
}

func isCRD(object *unstructured.Unstructured) bool {
	return object.GetKind() == "CustomResourceDefinition" && object.GroupVersionKind().Group == "apiextensions.k8s.io"
}

func readCRDs(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var crds []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := decode(content)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(file), err)
		}
		for _, object := range objects {
			if isCRD(object) {
				crds = append(crds, object)
			}
		}
	}
	if len(crds) == 0 {
		return nil, errors.New("no CRD there")
	}
	return crds, nil
}

// decode reads the objects of a manifest; empty documents are left out.
func decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("decoding document %d: %w", len(objects)+1, err)
		case len(object.Object) == 0:
			continue
		case object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "":
			return nil, fmt.Errorf("decoding document %d: apiVersion, kind or metadata.name is missing", len(objects)+1)
		}
		objects = append(objects, object)
	}
}

// defaultServiceAccount is a probe: has kube-controller-manager made the default namespace's account?
func (c *ControlPlane) defaultServiceAccount(ctx context.Context) error {
	key := client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: "default"}
	return c.client.Get(ctx, key, &corev1.ServiceAccount{})
}
