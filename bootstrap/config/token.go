// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
)

// tokenLifetime is how long a token admits hosts after it was written last; it is written again at half of that.
const tokenLifetime = 24 * time.Hour

// bootstrappers is the group of kubelets that come with one of our tokens.
const bootstrappers = "system:bootstrappers:repave"

// Fields of a bootstrap token's Secret, as Kubernetes defines them.
const (
	tokenIDKey          = "token-id"
	tokenSecretKey      = "token-secret"
	tokenExpirationKey  = "expiration"
	tokenDescriptionKey = "description"
	tokenGroupsKey      = "auth-extra-groups"
	tokenUsageAuth      = "usage-bootstrap-authentication"
	tokenUsageSigning   = "usage-bootstrap-signing"
)

// tokenID derives the ID of a config's token from the config's UID, so that a restart between making the token and storing the
// data finds the token again instead of making another.
func tokenID(uid types.UID) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	sum := sha256.Sum256([]byte(uid))
	id := make([]byte, 6)
	for i := range id {
		id[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(id)
}

var tokenSecretPattern = regexp.MustCompile(`^[a-z0-9]{16}$`)

// newTokenSecret draws the secret half of a token: 16 letters and digits, 80 bits.
func newTokenSecret() string { return strings.ToLower(rand.Text()[:16]) }

// keepToken makes or renews a token in the workload cluster and gives it. A given one is kept as it is; without one, that of an
// earlier, interrupted try is taken up, or a new one drawn.
func (r *Reconciler) keepToken(ctx context.Context, workload client.Client, config *bootstrapv1.RepaveConfig, given string) (string, error) {
	id, secret, _ := strings.Cut(given, ".")
	if given == "" {
		id = tokenID(config.UID)
	}
	stored := &corev1.Secret{}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id}
	err := workload.Get(ctx, key, stored)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return "", fmt.Errorf("getting join token: %w", err)
	}
	if secret == "" {
		secret = string(stored.Data[tokenSecretKey])
	}
	if !tokenSecretPattern.MatchString(secret) {
		secret = newTokenSecret()
	}
	wanted := r.tokenFields(config, id, secret)
	if !missing && r.stillGood(stored.Data, wanted) {
		return id + "." + secret, nil
	}
	result := "renewed"
	stored.Data = wanted
	if missing {
		result = "minted"
		stored = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			Type:       corev1.SecretTypeBootstrapToken, Data: wanted,
		}
		err = workload.Create(ctx, stored)
	} else {
		err = workload.Update(ctx, stored)
	}
	if err != nil {
		return "", fmt.Errorf("writing join token: %w", err)
	}
	tokens.WithLabelValues(result).Inc()
	ctrl.LoggerFrom(ctx).V(2).Info("Wrote a join token", "result", result, "expires", string(wanted[tokenExpirationKey]))
	return id + "." + secret, nil
}

func (r *Reconciler) tokenFields(config *bootstrapv1.RepaveConfig, id, secret string) map[string][]byte {
	return map[string][]byte{
		tokenIDKey:          []byte(id),
		tokenSecretKey:      []byte(secret),
		tokenExpirationKey:  []byte(r.Now().Add(tokenLifetime).UTC().Format(time.RFC3339)),
		tokenDescriptionKey: []byte(fmt.Sprintf("Lets hosts join by RepaveConfig %s/%s of the management cluster.", config.Namespace, config.Name)),
		tokenGroupsKey:      []byte(bootstrappers),
		tokenUsageAuth:      []byte("true"),
		tokenUsageSigning:   []byte("true"),
	}
}

// stillGood says whether a stored token is as wanted and has more than half of its life left.
func (r *Reconciler) stillGood(stored, wanted map[string][]byte) bool {
	expires, err := time.Parse(time.RFC3339, string(stored[tokenExpirationKey]))
	if err != nil || expires.Sub(r.Now()) <= tokenLifetime/2 {
		return false
	}
	same := maps.Clone(wanted)
	same[tokenExpirationKey] = stored[tokenExpirationKey]
	return maps.EqualFunc(same, stored, func(a, b []byte) bool { return string(a) == string(b) })
}

// rights are what hosts that come with a token need in order to become Nodes and to stay so: to ask for a certificate, to get it
// without a person's doing, and to renew it. kubeadm binds the same for its own tokens.
var rights = []struct{ name, group, role string }{
	{"repave:node-bootstrapper", bootstrappers, "system:node-bootstrapper"},
	{"repave:node-autoapprove-bootstrap", bootstrappers, "system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
	{"repave:node-autoapprove-certificate-rotation", "system:nodes", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"},
}

// bindRights makes the bindings that are missing. Those that are there are people's to change.
func bindRights(ctx context.Context, workload client.Client) error {
	for _, right := range rights {
		err := workload.Get(ctx, client.ObjectKey{Name: right.name}, &rbacv1.ClusterRoleBinding{})
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("getting ClusterRoleBinding %s: %w", right.name, err)
		}
		err = workload.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: right.name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: right.role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: right.group}},
		})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating ClusterRoleBinding %s: %w", right.name, err)
		}
	}
	return nil
}
