// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// busy is an API server that has no time for Secrets.
type busy struct{ client.Reader }

func (b busy) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, secret := object.(*corev1.Secret); secret {
		return apierrors.NewTooManyRequests("busy", 1)
	}
	return b.Reader.Get(ctx, key, object, options...)
}

// TestBusyAPIServerIsNoMissingSecret: an event and a condition would send a person to look for a Secret that is there.
func TestBusyAPIServerIsNoMissingSecret(t *testing.T) {
	w := serving(t)
	before := w.host()
	w.r.APIReader = busy{direct}
	w.clock = w.clock.Add(2 * credentialsAge)
	w.renew()
	_, err := w.r.Reconcile(t.Context(), requestOf(w))
	w.Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), "%v", err)
	w.Expect(w.host().ResourceVersion).To(Equal(before.ResourceVersion))
}
