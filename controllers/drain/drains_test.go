// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

var (
	machine = client.ObjectKey{Namespace: "default", Name: "m"}
	at      = infrav1.DrainOptions{GracePeriodSeconds: ptr.To[int32](0)}
)

// newHands are hands with short pauses, stopped with the test.
func newHands(t *testing.T, clusters Clusters) *Workload {
	t.Helper()
	w := New(clusters, Options{Poll: 20 * time.Millisecond, Retry: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("drains go on after the end of their process")
		}
	})
	return w
}

// expectState waits for a state by the wakes that a controller would get.
func expectState(t *testing.T, w *Workload, want State) Progress {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		if progress := w.Progress(machine); progress.State == want {
			return progress
		}
		select {
		case wake := <-w.Wakes():
			if wake.Object.GetName() != machine.Name || wake.Object.GetNamespace() != machine.Namespace {
				t.Fatalf("woke %s/%s", wake.Object.GetNamespace(), wake.Object.GetName())
			}
		case <-deadline:
			t.Fatalf("drain is %+v, want %s", w.Progress(machine), want)
		}
	}
}

func gone(t *testing.T, pod *corev1.Pod) bool {
	t.Helper()
	return apierrors.IsNotFound(direct.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}))
}

func TestDrainMovesPodsAway(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: node.Name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "daemon"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "daemon"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
	g.Expect(direct.Create(t.Context(), set)).To(Succeed())
	web := newPod(t, node.Name, "web")
	daemon := newPod(t, node.Name, "daemon", func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	})
	mirror := newPod(t, node.Name, "mirror", func(pod *corev1.Pod) {
		pod.OwnerReferences = nil
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	})
	elsewhere := newPod(t, newNode(t).Name, "web")

	w := newHands(t, &oneCluster{})
	g.Expect(w.Progress(machine)).To(Equal(Progress{}))
	w.Drain(machine, key, node.Name, at)
	expectState(t, w, Done)
	g.Expect(gone(t, web)).To(BeTrue())
	for _, pod := range []*corev1.Pod{daemon, mirror, elsewhere} {
		g.Expect(gone(t, pod)).To(BeFalse(), pod.Name)
	}
	w.Drain(machine, key, node.Name, at)
	g.Expect(w.Progress(machine).State).To(Equal(Done), "a drain that is done is not begun again")
	w.Cancel(machine)
	g.Expect(w.Progress(machine)).To(Equal(Progress{}))
}

func TestDrainWaitsForTheEndOfPods(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	pod := newPod(t, node.Name, "web")
	w := newHands(t, &oneCluster{})
	w.Drain(machine, key, node.Name, infrav1.DrainOptions{})
	g.Eventually(func() bool {
		found := &corev1.Pod{}
		return direct.Get(t.Context(), client.ObjectKeyFromObject(pod), found) == nil && found.DeletionTimestamp != nil
	}, 10*time.Second).Should(BeTrue())
	g.Consistently(func() State { return w.Progress(machine).State }, 300*time.Millisecond).Should(Equal(Running))
	g.Expect(direct.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	expectState(t, w, Done)
}

// ahead is a clock that is an hour ahead, so that every grace is over.
type ahead struct{ clock.RealClock }

func (ahead) Now() time.Time { return time.Now().Add(time.Hour) }

func (a ahead) Since(at time.Time) time.Duration { return a.Now().Sub(at) }

func TestPodThatDoesNotEndIsNamed(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	pod := newPod(t, node.Name, "web")
	w := newHands(t, &oneCluster{})
	w.drains.options.Clock = ahead{}
	w.Drain(machine, key, node.Name, infrav1.DrainOptions{})
	progress := expectState(t, w, Blocked)
	g.Expect(progress.Message).To(Equal("pod default/" + pod.Name + ": its grace period is over and it has not ended"))
	g.Expect(direct.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	expectState(t, w, Done)
}

func TestBudgetBlocks(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	budget := newBudget(t, node.Name, "db")
	db, web := newPod(t, node.Name, "db"), newPod(t, node.Name, "web")
	w := newHands(t, &oneCluster{})
	w.Drain(machine, key, node.Name, at)
	progress := expectState(t, w, Blocked)
	g.Expect(progress.Message).To(HavePrefix("pod default/" + db.Name + ": Cannot evict pod as it would violate the pod's disruption budget."))
	g.Expect(progress.Message).To(ContainSubstring(budget.Name))
	g.Eventually(func() bool { return gone(t, web) }, 10*time.Second).Should(BeTrue(), "one pod that refuses must not keep the others")
	g.Expect(gone(t, db)).To(BeFalse())

	budget.Status.DisruptionsAllowed, budget.Status.CurrentHealthy = 1, 2
	g.Expect(direct.Status().Update(t.Context(), budget)).To(Succeed())
	expectState(t, w, Done)
	g.Expect(gone(t, db)).To(BeTrue())
}

func TestCancelledDrainLeavesPodsAlone(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	budget := newBudget(t, node.Name, "db")
	db := newPod(t, node.Name, "db")
	w := newHands(t, &oneCluster{})
	w.Drain(machine, key, node.Name, at)
	expectState(t, w, Blocked)
	w.Cancel(machine)
	w.drains.group.Wait()
	budget.Status.DisruptionsAllowed, budget.Status.CurrentHealthy = 1, 2
	g.Expect(direct.Status().Update(t.Context(), budget)).To(Succeed())
	g.Consistently(func() bool { return gone(t, db) }, 300*time.Millisecond).Should(BeFalse())
}

func TestPodsThatWouldBeLost(t *testing.T) {
	for _, test := range []struct {
		name    string
		pod     func(*corev1.Pod)
		options infrav1.DrainOptions
		says    string
	}{
		{
			name:    "nobody brings it back",
			pod:     func(pod *corev1.Pod) { pod.OwnerReferences = nil },
			options: infrav1.DrainOptions{Force: true},
			says:    "set drain.force",
		},
		{
			name: "its data goes with it",
			pod: func(pod *corev1.Pod) {
				pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			},
			options: infrav1.DrainOptions{DeleteEmptyDirData: true},
			says:    "set drain.deleteEmptyDirData",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			node := newNode(t)
			newPod(t, node.Name, "web", test.pod)
			w := newHands(t, &oneCluster{})
			w.Drain(machine, key, node.Name, at)
			g.Expect(expectState(t, w, Blocked).Message).To(ContainSubstring(test.says))
			test.options.GracePeriodSeconds = at.GracePeriodSeconds
			w.Drain(machine, key, node.Name, test.options)
			expectState(t, w, Done)
		})
	}
}

func TestTimeoutIsSaidAndTriedAgain(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	pod := newPod(t, node.Name, "web")
	w := newHands(t, &oneCluster{})
	w.Drain(machine, key, node.Name, infrav1.DrainOptions{Timeout: metav1.Duration{Duration: 100 * time.Millisecond}})
	g.Expect(expectState(t, w, Blocked)).To(Equal(Progress{State: Blocked, Message: "not empty after 100ms, tried again: pods are still going"}))
	g.Expect(direct.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
	expectState(t, w, Done)
}

func TestDeadClusterBlocksWithoutAddresses(t *testing.T) {
	g := NewWithT(t)
	node := newNode(t)
	clusters := &oneCluster{}
	clusters.dead.Store(true)
	w := newHands(t, clusters)
	w.Drain(machine, key, node.Name, at)
	g.Expect(expectState(t, w, Blocked)).To(Equal(Progress{State: Blocked, Message: "reading the Node: " + ErrUnreachable.Error()}))
	clusters.dead.Store(false)
	expectState(t, w, Done)
}

func TestNodeThatIsGoneIsDrained(t *testing.T) {
	w := newHands(t, &oneCluster{})
	w.Drain(machine, key, "no-such-node", at)
	expectState(t, w, Done)
}
