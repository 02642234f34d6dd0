// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sharedDeadline bounds the start of a shared control plane with all its preparations.
const sharedDeadline = 5 * time.Minute

// Shared is one control plane for all tests of a package, started when the first test asks for it:
//
//	var shared = lab.NewShared(lab.Options{CRDDirs: []string{"../../config/crd/bases"}})
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
//	func TestStory(t *testing.T) {
//		cp := shared.ControlPlane(t)
//		ns := cp.Namespace(t)
//		...
type Shared struct {
	start func() (*ControlPlane, error)
	begun bool
}

// NewShared says how the control plane is made: its options, then what to do on it before the first test, for example
// (*ControlPlane).StartClusterAPI. Nothing is started yet.
func NewShared(options Options, prepare ...func(*ControlPlane, context.Context) error) *Shared {
	s := &Shared{}
	s.start = sync.OnceValues(func() (*ControlPlane, error) {
		s.begun = true
		ctx, cancel := context.WithTimeout(context.Background(), sharedDeadline)
		defer cancel()
		c, err := StartControlPlane(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, step := range prepare {
			if err := step(c, ctx); err != nil {
				return c, fmt.Errorf("preparing the shared control plane: %w", err)
			}
		}
		return c, nil
	})
	return s
}

// ControlPlane is the running control plane. A test that cannot have it fails at once.
func (s *Shared) ControlPlane(t testing.TB) *ControlPlane {
	t.Helper()
	c, err := s.start()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Main runs the package's tests and stops what they started. When a test failed, the last lines of every process' log
// follow. The result is the exit status for os.Exit.
func (s *Shared) Main(m *testing.M) int {
	status := m.Run()
	if !s.begun {
		return status
	}
	c, _ := s.start() // the error was reported by the tests
	if c == nil {
		return max(status, 1)
	}
	if status != 0 {
		for _, p := range c.Processes() {
			fmt.Fprintf(os.Stderr, "last lines of %s:\n%s\n\n", p.Name(), p.Tail(tailLines))
		}
	}
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(status, 1)
	}
	return status
}

// Namespace makes a fresh namespace for one test and deletes it when the test ends, without waiting for it to be gone.
// Stop the test's own managers first (their cleanup registered later runs earlier). Without ControllerManager nobody
// empties it: a manager over all namespaces goes on seeing the objects.
func (c *ControlPlane) Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.client.Create(t.Context(), namespace, client.FieldOwner(fieldManager)); err != nil {
		t.Fatalf("creating namespace: %v", err)
	}
	t.Cleanup(func() { // t.Context is over by now
		ctx, cancel := context.WithTimeout(context.Background(), startDeadline)
		defer cancel()
		if err := c.client.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting namespace: %v", err)
		}
	})
	return namespace.Name
}
