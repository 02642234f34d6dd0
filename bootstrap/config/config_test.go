// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/repave-io/cluster-api-provider-repave/api/bootstrap/v1alpha1"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestDataSecretIsAsClusterAPIWantsIt(t *testing.T) {
	s := tell(t, true)
	result := s.reconcile()

	s.Expect(s.config.Status.DataSecretName).To(Equal("join"))
	s.Expect(s.config.Status.Initialization.DataSecretCreated).To(HaveValue(BeTrue()))
	s.Expect(s.condition("Ready")).To(Equal("True Available"))
	s.Expect(s.condition("DataSecretAvailable")).To(Equal("True Available"))
	s.Expect(result.RequeueAfter).To(Equal(CheckInterval))

	data := s.data()
	s.Expect(data.Type).To(Equal(clusterv1.ClusterSecretType))
	s.Expect(data.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c1"))
	s.Expect(metav1.IsControlledBy(data, s.config)).To(BeTrue())
	s.Expect(data.Data).To(HaveKeyWithValue(bootstrapv1.SecretFormatKey, []byte("Agent")))
	join := &bootstrapv1.AgentJoin{}
	s.Expect(json.Unmarshal(data.Data[bootstrapv1.SecretKey], join)).To(Succeed())
	s.Expect(join.Cluster.Name).To(Equal("c1"))
	s.Expect(join.Cluster.Server).To(HavePrefix("https://127.0.0.1:"))
	s.Expect(join.Cluster.CA).To(Equal(restConfig.CAData))
	s.Expect(join.NodeLabels).To(Equal(map[string]string{"rack": "r1"}))
	s.Expect(join.Token).To(Equal(tokenID(s.config.UID) + "." + string(s.token().Data[tokenSecretKey])))

	writes, config := s.workload.writes, s.config.ResourceVersion
	for range 5 {
		s.reconcile()
	}
	s.Expect(s.workload.writes).To(Equal(writes), "a converged config writes nothing into the workload cluster")
	s.Expect(s.config.ResourceVersion).To(Equal(config))
	s.Expect(s.data().ResourceVersion).To(Equal(data.ResourceVersion))
	s.noSecretShown(string(s.token().Data[tokenSecretKey]))
}

// noSecretShown: neither the config nor any Event shows the token.
func (s *story) noSecretShown(secret string) {
	shown, err := json.Marshal(s.config)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(string(shown)).NotTo(ContainSubstring(secret))
}

func TestDataNeverChangesUnderAHost(t *testing.T) {
	s := tell(t, true)
	s.reconcile()
	before := s.data().Data[bootstrapv1.SecretKey]

	s.Expect(live.Delete(s.ctx, s.data())).To(Succeed())
	s.reconcile()
	s.Expect(s.data().Data[bootstrapv1.SecretKey]).To(Equal(before), "made again after a deletion, byte for byte")

	s.Expect(live.Delete(s.ctx, s.token())).To(Succeed())
	s.reconcile()
	s.Expect(strings.Contains(string(before), string(s.token().Data[tokenSecretKey]))).To(BeTrue(), "the token is made again from the data")

	s.config.Spec.Kubelet.NodeLabels = map[string]string{"rack": "r2"}
	s.Expect(live.Update(s.ctx, s.config)).To(Succeed())
	s.reconcile()
	s.Expect(s.data().Data[bootstrapv1.SecretKey]).To(Equal(before), "another spec does not alter it")

	s.config.Status = bootstrapv1.RepaveConfigStatus{}
	s.Expect(live.Status().Update(s.ctx, s.config)).To(Succeed())
	s.reconcile()
	s.Expect(s.config.Status.DataSecretName).To(Equal("join"), "a lost status is found again")
	s.Expect(s.data().Data[bootstrapv1.SecretKey]).To(Equal(before))
}

func TestWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*story)
		want  string
		cure  func(*story)
	}{
		"no infrastructure": {
			spoil: func(s *story) { s.infrastructure(false) },
			want:  "False " + infrav1.ReasonWaitingForCluster,
			cure:  func(s *story) { s.infrastructure(true) },
		},
		"no connection": {
			spoil: func(s *story) { s.workload.cut = true },
			want:  "False " + infrav1.ReasonWorkloadUnreachable,
			cure:  func(s *story) { s.workload.cut = false },
		},
		"a label no kubelet may set": {
			spoil: func(s *story) { s.label("node-role.kubernetes.io/worker") },
			want:  "False " + infrav1.ReasonInvalidSpec,
			cure:  func(s *story) { s.label("role") },
		},
		"no kubeconfig": {
			spoil: func(s *story) {
				s.Expect(live.Delete(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "c1-kubeconfig"}})).To(Succeed())
			},
			want: "False " + infrav1.ReasonDataSecretPending,
			cure: func(s *story) {
				s.Expect(live.Create(s.ctx, &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "c1-kubeconfig"}, Data: map[string][]byte{"value": access},
				})).To(Succeed())
			},
		},
		"a Secret of somebody else": {
			spoil: func(s *story) {
				s.Expect(live.Create(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "join"}})).To(Succeed())
			},
			want: "False " + infrav1.ReasonSecretNotOurs,
			cure: func(s *story) {
				s.Expect(s.data().Data).To(BeEmpty(), "it is left alone")
				s.Expect(live.Delete(s.ctx, s.data())).To(Succeed())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, true)
			test.spoil(s)
			result := s.reconcile()
			s.Expect(s.condition("Ready")).To(Equal(test.want))
			s.Expect(s.condition("DataSecretAvailable")).To(Equal(test.want))
			s.Expect(s.config.Status.DataSecretName).To(BeEmpty())
			s.Expect(result.RequeueAfter).To(BeNumerically(">=", 10*time.Second), "no hot loop")
			test.cure(s)
			s.reconcile()
			s.Expect(s.condition("Ready")).To(Equal("True Available"))
		})
	}
}

func (s *story) infrastructure(provisioned bool) {
	cluster := &clusterv1.Cluster{}
	s.Expect(live.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: "c1"}, cluster)).To(Succeed())
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(provisioned)
	s.Expect(live.Status().Update(s.ctx, cluster)).To(Succeed())
}

func (s *story) label(key string) {
	s.Expect(live.Get(s.ctx, client.ObjectKeyFromObject(s.config), s.config)).To(Succeed())
	s.config.Spec.Kubelet.NodeLabels = map[string]string{key: ""}
	s.Expect(live.Update(s.ctx, s.config)).To(Succeed())
}

// TestSecretsMayNotBeRead: the right is given namespace by namespace; where it is missing, people are told which one.
func TestSecretsMayNotBeRead(t *testing.T) {
	s := tell(t, true)
	s.reconciler.APIReader = forbidding{live}
	s.reconcile()
	s.Expect(s.condition("Ready")).To(Equal("False " + infrav1.ReasonSecretForbidden))
}

type forbidding struct{ client.Reader }

func (forbidding) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, nil)
}

func TestLeftAlone(t *testing.T) {
	t.Run("without owner", func(t *testing.T) {
		s := tell(t, true)
		s.config = &bootstrapv1.RepaveConfig{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "orphan"}}
		s.Expect(live.Create(s.ctx, s.config)).To(Succeed())
		s.Expect(s.reconcile()).To(Equal(ctrl.Result{}))
		s.Expect(s.config.Status.Conditions).To(BeEmpty())
	})
	t.Run("by another manager", func(t *testing.T) {
		s := tell(t, true)
		s.reconciler.WatchFilterValue = "ours"
		s.Expect(s.reconcile()).To(Equal(ctrl.Result{}))
		s.Expect(s.config.Status.Conditions).To(BeEmpty())
		s.Expect(s.workload.writes).To(BeZero())
	})
	t.Run("paused", func(t *testing.T) {
		s := tell(t, true)
		s.config.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		s.Expect(live.Update(s.ctx, s.config)).To(Succeed())
		s.reconcile()
		s.Expect(s.condition("Paused")).To(Equal("True Paused"))
		s.Expect(s.workload.writes).To(BeZero())
		s.Expect(s.config.Status.DataSecretName).To(BeEmpty())
	})
}
