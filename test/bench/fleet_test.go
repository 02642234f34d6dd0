// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish/virtual"
)

const (
	bmcUser     = "root"
	bmcPassword = "calvin-of-the-benchmark"
	// appliers is how many objects are created at a time: enough that the API server, and not we, is what takes time.
	appliers = 16
)

// fleet is a number of servers that are off, each behind a BMC with its own port, certificate and sessions.
type fleet []*virtual.Server

func startFleet(size int) (fleet, error) {
	var f fleet
	for i := range size {
		server, err := virtual.New(virtual.Options{
			Username: bmcUser, Password: bmcPassword, Serial: fmt.Sprintf("BENCH%05d", i),
			UUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i), Machine: &virtual.Memory{},
		})
		if err != nil {
			f.close()
			return nil, err
		}
		f = append(f, server)
	}
	return f, nil
}

func (f fleet) close() {
	for _, server := range f {
		server.Close()
	}
}

// requests counts those that all BMCs have seen.
func (f fleet) requests() int {
	total := 0
	for _, server := range f {
		total += server.Requests()
	}
	return total
}

// create puts the whole fleet into the inventory, as a person with one manifest for each server would.
func (f fleet) create(ctx context.Context, c client.Client) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(appliers)
	for i, server := range f {
		group.Go(func() error {
			for _, object := range record(i, server.URL()) {
				if err := c.Create(ctx, object); err != nil {
					return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// record is one server's part of the inventory, as templates/host.yaml has it.
func record(i int, address string) []client.Object {
	name := fmt.Sprintf("host-%05d", i)
	return []client.Object{
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-bmc"},
			Type:       corev1.SecretTypeBasicAuth,
			StringData: map[string]string{"username": bmcUser, "password": bmcPassword},
		},
		&infrav1.RepaveHost{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: infrav1.RepaveHostSpec{
				BMC:        &infrav1.BMC{Address: address, CredentialsRef: infrav1.SecretReference{Name: name + "-bmc"}},
				Interfaces: []infrav1.NetworkInterface{{MAC: fmt.Sprintf("52:54:00:00:%02x:%02x", i>>8, i&0xff)}},
				RootDevice: &infrav1.RootDevice{SerialNumber: fmt.Sprintf("DISK%05d", i)},
			},
		},
	}
}
