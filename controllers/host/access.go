// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// accessAge is how long a Role that was found right is taken to be so still.
const accessAge = 10 * time.Minute

// errTaken says that a name that the host needs is in use: by the host of the same name before, until that is collected, or by
// somebody else's object, which a person must remove.
var errTaken = errors.New("it belongs to another object")

// admit lets the agent of the host in: a Lease to renew, and a Role for its own host and the Secrets that are named there.
// They belong to the host and go with it. The Secrets are those of the claim that is installed.
func (r *Reconciler) admit(ctx context.Context, host *infrav1.RepaveHost, installed string) error {
	if !host.DeletionTimestamp.IsZero() {
		return nil
	}
	if admitted, err := r.keepLease(ctx, host); err != nil || !admitted {
		return err
	}
	role, binding := agentRole(host, installed), agentBinding(host)
	granted, err := json.Marshal(role.Rules)
	if err != nil {
		return fmt.Errorf("encoding the rules of the agent: %w", err)
	}
	key := client.ObjectKeyFromObject(host)
	if have := r.recall(key); have.access == string(host.UID)+string(granted) && r.Now().Sub(have.grantedAt) < accessAge {
		return nil
	}
	haveRole := &rbacv1.Role{}
	if err := r.keep(ctx, host, role, haveRole, func() bool {
		same := equality.Semantic.DeepEqual(haveRole.Rules, role.Rules)
		haveRole.Rules = role.Rules
		return same
	}); err != nil {
		return err
	}
	haveBinding := &rbacv1.RoleBinding{}
	if err := r.keep(ctx, host, binding, haveBinding, func() bool {
		same := equality.Semantic.DeepEqual(haveBinding.Subjects, binding.Subjects)
		haveBinding.Subjects = binding.Subjects // the role of a binding never changes
		return same
	}); err != nil {
		return err
	}
	r.remember(key, func(k *kept) { k.access, k.grantedAt = string(host.UID)+string(granted), r.Now() })
	return nil
}

// keepLease makes the Lease that the agent renews, and nothing more: everything in it is the agent's. A server that never served
// a machine never had an agent: it gets none, which spares most of the writes of taking in a fleet.
func (r *Reconciler) keepLease(ctx context.Context, host *infrav1.RepaveHost) (admitted bool, err error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: host.Namespace, Name: infrav1.LeaseName(host.Name), Labels: map[string]string{infrav1.LabelHost: host.Name},
	}}
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(lease), &coordinationv1.Lease{})
	if err == nil || !apierrors.IsNotFound(err) {
		return err == nil, wrap("reading Lease", err)
	}
	if host.Spec.BMC != nil && host.Spec.ClaimRef == nil && host.Status.Agent == nil {
		return false, nil
	}
	if err := controllerutil.SetControllerReference(host, lease, r.Client.Scheme()); err != nil {
		return false, fmt.Errorf("owning Lease: %w", err)
	}
	err = r.Client.Create(ctx, lease)
	if apierrors.IsAlreadyExists(err) {
		return true, nil // the cache has not seen it yet
	}
	return err == nil, wrap("creating Lease", err)
}

// keep makes an object as wanted, or corrects it where same says that it differs. It is read from the API server: a cache of
// all Roles would cost more than a read now and then.
func (r *Reconciler) keep(ctx context.Context, host *infrav1.RepaveHost, wanted, have client.Object, same func() bool) error {
	what := fmt.Sprintf("%T %s", wanted, wanted.GetName())
	err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(wanted), have)
	switch {
	case apierrors.IsNotFound(err):
		if err := controllerutil.SetControllerReference(host, wanted, r.Client.Scheme()); err != nil {
			return fmt.Errorf("owning %s: %w", what, err)
		}
		return wrap("creating "+what, r.Client.Create(ctx, wanted))
	case err != nil:
		return fmt.Errorf("reading %s: %w", what, err)
	case same() && metav1.IsControlledBy(have, host):
		return nil
	case metav1.GetControllerOf(have) != nil && !metav1.IsControlledBy(have, host):
		return fmt.Errorf("correcting %s: %w", what, errTaken)
	}
	if err := controllerutil.SetControllerReference(host, have, r.Client.Scheme()); err != nil {
		return fmt.Errorf("owning %s: %w", what, err)
	}
	return wrap("correcting "+what, r.Client.Update(ctx, have))
}

// agentRole is what the agent of a host may do: read its host and write its status (the ValidatingAdmissionPolicy narrows that
// to its own part), renew its Lease, and read exactly the Secrets that its host names.
func agentRole(host *infrav1.RepaveHost, installed string) *rbacv1.Role {
	group := infrav1.GroupVersion.Group
	role := &rbacv1.Role{
		ObjectMeta: agentMeta(host),
		Rules: []rbacv1.PolicyRule{
			// list and watch with a resource name allow the one-object forms only (fieldSelector metadata.name).
			{APIGroups: []string{group}, Resources: []string{"repavehosts"}, ResourceNames: []string{host.Name}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{group}, Resources: []string{"repavehosts/status"}, ResourceNames: []string{host.Name}, Verbs: []string{"get", "patch", "update"}},
			{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: []string{infrav1.LeaseName(host.Name)}, Verbs: []string{"get", "patch", "update"}},
		},
	}
	if secrets := namedSecrets(host, installed); len(secrets) > 0 {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"get"}})
	}
	return role
}

// namedSecrets are those that the agent needs: how to join, and how to pull its image. None before the install of the claim is
// proven: until then the host may run the disk, and the agent, of the claim before.
func namedSecrets(host *infrav1.RepaveHost, installed string) []string {
	desired := host.Spec.Desired
	if host.Spec.ClaimRef == nil || desired == nil || desired.ProviderID != installed {
		return nil
	}
	var names []string
	if desired.BootstrapDataSecretName != "" {
		names = append(names, desired.BootstrapDataSecretName)
	}
	if desired.Image != nil && desired.Image.PullSecretRef != nil && desired.Image.PullSecretRef.Name != desired.BootstrapDataSecretName {
		names = append(names, desired.Image.PullSecretRef.Name)
	}
	return names
}

func agentBinding(host *infrav1.RepaveHost) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: agentMeta(host),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: infrav1.AgentRoleName(host.Name)},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: infrav1.HostUser(host.Namespace, host.Name)}},
	}
}

func agentMeta(host *infrav1.RepaveHost) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: host.Namespace, Name: infrav1.AgentRoleName(host.Name), Labels: map[string]string{infrav1.LabelHost: host.Name}}
}
