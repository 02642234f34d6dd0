// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package fixed_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repave-io/cluster-api-provider-repave/agent/fixed"
	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

func TestStatusIsWhatWasInstalled(t *testing.T) {
	for name, test := range map[string]struct {
		install orderv1.Install
		want    step.Status
	}{
		"an OS image":       {orderv1.Install{Order: "o.1", Digest: "sha256:net", OSImage: "r/os@sha256:os"}, step.Status{Booted: &step.Image{Ref: "r/os@sha256:os", Digest: "sha256:os"}}},
		"no OS image named": {orderv1.Install{Order: "o.1", Digest: "sha256:net"}, step.Status{Booted: &step.Image{Digest: "sha256:net"}}},
		"never installed":   {orderv1.Install{}, step.Status{}},
	} {
		got, err := fixed.New(test.install).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestEverythingElseIsUnsupported(t *testing.T) {
	d := fixed.New(orderv1.Install{})
	for _, err := range []error{d.Stage(t.Context(), step.Image{}), d.Boot(t.Context(), "sha256:x"), d.RollBack(t.Context())} {
		if !errors.Is(err, step.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	}
	if d.Name() != "none" {
		t.Errorf("got %s", d.Name())
	}
}
