// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/redfish"
)

// credentialsAge is how long the credentials of a BMC that answers are taken to be those of its Secret.
const credentialsAge = time.Minute

// kept is what this process remembers of a host, to spare the API server: none of it is needed.
type kept struct {
	endpoint   redfish.Endpoint
	uid        types.UID // of the host that the endpoint is of: another of the same name may be another server
	generation int64
	readAt     time.Time
	access     string // what was granted to the agent
	grantedAt  time.Time
	renewal    renewal
}

// refusal is why a BMC cannot be called: for a reason that a person can mend, or because the API server does not answer.
type refusal struct {
	reason, message string
	trouble         error
}

// endpoint gives address and credentials of the BMC. The Secret is read once a minute at most while the BMC answers, and at
// every look while it does not, so that mended credentials are noticed.
func (r *Reconciler) endpoint(ctx context.Context, host *infrav1.RepaveHost, answers bool, now time.Time) (redfish.Endpoint, *refusal) {
	key := client.ObjectKeyFromObject(host)
	have := r.recall(key)
	if answers && have.uid == host.UID && have.generation == host.Generation && now.Sub(have.readAt) < credentialsAge {
		return have.endpoint, nil
	}
	bmc := host.Spec.BMC
	endpoint := redfish.Endpoint{Address: bmc.Address, SystemID: bmc.SystemID, TLSMode: redfish.TLSMode(bmc.TLS.Mode)}
	login, refused := r.secret(ctx, host.Namespace, bmc.CredentialsRef.Name, "username", "password")
	if refused != nil {
		return endpoint, refused
	}
	endpoint.Username, endpoint.Password = string(login["username"]), string(login["password"])
	if bmc.TLS.CARef != nil {
		ca, refused := r.secret(ctx, host.Namespace, bmc.TLS.CARef.Name, "ca.crt")
		if refused != nil {
			return endpoint, refused
		}
		endpoint.CA = ca["ca.crt"]
	}
	r.remember(key, func(k *kept) { k.endpoint, k.uid, k.generation, k.readAt = endpoint, host.UID, host.Generation, now })
	return endpoint, nil
}

// secret reads the named keys of a Secret, by get alone. Its message names the Secret and never what is in it.
func (r *Reconciler) secret(ctx context.Context, namespace, name string, keys ...string) (map[string][]byte, *refusal) {
	secret := &corev1.Secret{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &refusal{reason: infrav1.ReasonCredentialsMissing, message: fmt.Sprintf("Secret %s does not exist", name)}
	case apierrors.IsForbidden(err):
		return nil, &refusal{reason: infrav1.ReasonSecretForbidden, message: fmt.Sprintf("Secret %s may not be read: bind the Secret role of the manager in namespace %s", name, namespace)}
	case err != nil:
		return nil, &refusal{trouble: fmt.Errorf("reading Secret %s: %w", name, err)}
	}
	for _, key := range keys {
		if len(secret.Data[key]) == 0 {
			return nil, &refusal{reason: infrav1.ReasonCredentialsMissing, message: fmt.Sprintf("Secret %s has no key %s", name, key)}
		}
	}
	return secret.Data, nil
}

func (r *Reconciler) recall(key types.NamespacedName) kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept[key]
}

func (r *Reconciler) remember(key types.NamespacedName, change func(*kept)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[types.NamespacedName]kept{}
	}
	k := r.kept[key]
	change(&k)
	r.kept[key] = k
}

// forget drops all that is known of a host that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.BMCs.Forget(key.String())
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, key)
}
