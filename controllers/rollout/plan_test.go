// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const (
	older  = "sha256:old"
	wanted = "sha256:new"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// member is one that serves on the wanted digest; change makes it another.
func member(name string, change ...func(*Member)) Member {
	m := Member{
		Name: name, Created: epoch, HasOwner: true, Aligned: true, Provisioned: true, Available: true,
		Booted: wanted, Aim: wanted, Step: infrav1.UpdateUpToDate,
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

// at puts a member on the old digest, on its way to the wanted one.
func at(step infrav1.UpdateStep) func(*Member) {
	return func(m *Member) { m.Booted, m.Aim, m.Step = older, wanted, step }
}

func slot(digest string) func(*Member) { return func(m *Member) { m.Slot = digest } }
func on(host string) func(*Member)     { return func(m *Member) { m.Host = host } }
func down(m *Member)                   { m.Available = false }
func joining(m *Member) {
	*m = Member{Name: m.Name, Created: m.Created, HasOwner: m.HasOwner, Aligned: true}
}
func ownerless(m *Member)   { m.HasOwner = false }
func deleting(m *Member)    { m.Deleting = true }
func deleteFirst(m *Member) { m.DeleteFirst = true }
func outdated(m *Member) {
	m.Aligned, m.Booted, m.Aim, m.Step = false, older, older, infrav1.UpdateUpToDate
}
func age(d time.Duration) func(*Member) { return func(m *Member) { m.Created = epoch.Add(-d) } }

func rollout(unavailable, failed intstr.IntOrString) infrav1.Rollout {
	return infrav1.Rollout{MaxUnavailable: ptr.To(unavailable), MaxFailed: ptr.To(failed)}
}

var one = rollout(intstr.FromInt32(1), intstr.FromInt32(1))

func TestPlan(t *testing.T) {
	staged := at(infrav1.UpdateStaged)
	for _, test := range []struct {
		name string
		view View
		want Step
	}{
		{
			name: "nothing to do",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a"), member("b")}},
			want: Step{
				Counts: Counts{Replicas: 2, Ready: 2, UpToDate: 2},
				Reason: infrav1.ReasonAllUpdated, Message: "2/2 updated",
			},
		},
		{
			name: "all seem to be down: no more slots than the budget has",
			view: View{Replicas: 3, Digest: wanted, Rollout: one, Members: []Member{member("a", staged, down), member("b", staged, down), member("c", staged, down)}},
			want: Step{
				Grant: []string{"a"}, Counts: Counts{Replicas: 3, Updating: 3, Degraded: 3, Unavailable: 3},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/3 updated; 3 staged; waiting: 2 for a slot (3/1 unavailable: b down, c down, a starts)",
			},
		},
		{
			name: "one of those that seem to be down has its slot: the others wait",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a", at(infrav1.UpdateBooting), slot(wanted), down), member("b", staged, down)}},
			want: Step{
				Counts:  Counts{Replicas: 2, Updating: 2, Degraded: 1, Unavailable: 2},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/2 updated; 1 staged, 1 booting (a); waiting: 1 for a slot (2/1 unavailable: a booting, b down)",
			},
		},
		{
			name: "back to the old image while one boots the new one: nobody is up to date before its own controller says so",
			view: View{Replicas: 2, Digest: older, Rollout: one, Members: []Member{
				member("a", at(infrav1.UpdateBooting), slot(wanted), down), member("b", at(infrav1.UpdateRolledBack)),
			}},
			want: Step{
				TakeBack: []string{"a"}, Counts: Counts{Replicas: 2, Ready: 1, Updating: 2, Unavailable: 1},
				Reason: infrav1.ReasonRolloutInProgress, Message: "0/2 updated; 1 waiting to stage, 1 booting (a)",
			},
		},
		{
			name: "messages speak of hosts, slots are given to machines",
			view: View{Replicas: 3, Digest: wanted, Rollout: rollout(intstr.FromInt32(2), intstr.FromInt32(1)), Members: []Member{
				member("a", staged, on("h3")), member("b", at(infrav1.UpdateBooting), slot(wanted), down, on("h2")), member("c", staged, on("h1")),
			}},
			want: Step{
				Grant: []string{"a"}, Counts: Counts{Replicas: 3, Ready: 2, Updating: 3, Unavailable: 1},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/3 updated; 2 staged, 1 booting (h2); waiting: 1 for a slot (2/2 unavailable: h2 booting, h3 starts)",
			},
		},
		{
			name: "a paused member would only sit on its slot",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{
				member("a", staged, func(m *Member) { m.Paused = true }), member("b", staged),
			}},
			want: Step{
				Grant: []string{"b"}, Counts: Counts{Replicas: 2, Ready: 2, Updating: 2},
				Reason: infrav1.ReasonRolloutInProgress, Message: "0/2 updated; 1 staged, 1 paused (a)",
			},
		},
		{
			name: "without an image in place only a repave helps, which people must ask for",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{
				member("a", at(infrav1.UpdateStaging), func(m *Member) { m.ByRepave = true }),
				member("b", func(m *Member) { m.ByRepave = true }),
			}},
			want: Step{
				Counts: Counts{Replicas: 2, Ready: 2, UpToDate: 1, Updating: 1},
				Reason: infrav1.ReasonRolloutInProgress, Message: "1/2 updated; 1 waiting for a repave by counter (a)",
			},
		},
		{
			name: "no members wanted",
			view: View{Digest: wanted, Rollout: one},
			want: Step{Reason: infrav1.ReasonAllUpdated, Message: "0/0 updated"},
		},
		{
			name: "a new image goes to all at once: staging disturbs nobody",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("b", outdated), member("a", outdated)}},
			want: Step{
				Align: []string{"a", "b"}, Counts: Counts{Replicas: 2, Ready: 2, Updating: 2},
				Reason: infrav1.ReasonRolloutInProgress, Message: "0/2 updated; 2 waiting to stage",
			},
		},
		{
			name: "only the staged get a slot, by name, as far as the budget goes",
			view: View{Replicas: 3, Digest: wanted, Rollout: one, Members: []Member{
				member("c", staged), member("b", staged), member("a", at(infrav1.UpdateStaging)),
			}},
			want: Step{
				Grant: []string{"b"}, Counts: Counts{Replicas: 3, Ready: 3, Updating: 3},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/3 updated; 1 staging, 2 staged; waiting: 1 for a slot (1/1 unavailable: b starts)",
			},
		},
		{
			name: "a slot in use is the budget, even before the member is cordoned",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a", staged, slot(wanted)), member("b", staged)}},
			want: Step{
				Counts: Counts{Replicas: 2, Ready: 2, Updating: 2, Unavailable: 1}, Reason: infrav1.ReasonRolloutInProgress,
				Message: "0/2 updated; 2 staged; waiting: 1 for a slot (1/1 unavailable: a starts)",
			},
		},
		{
			name: "a member that is down counts, and comes first because it costs nothing more",
			view: View{Replicas: 3, Digest: wanted, Rollout: one, Members: []Member{
				member("a", staged), member("b", staged), member("c", staged, down),
			}},
			want: Step{
				Grant: []string{"c"}, Counts: Counts{Replicas: 3, Ready: 2, Updating: 3, Degraded: 1, Unavailable: 1},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/3 updated; 3 staged; waiting: 2 for a slot (1/1 unavailable: c starts)",
			},
		},
		{
			name: "a missing member counts too",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a", staged)}},
			want: Step{
				Create: 1, Counts: Counts{Replicas: 1, Ready: 1, Updating: 1, Unavailable: 1}, Reason: infrav1.ReasonRolloutInProgress,
				Message: "0/2 updated; 1 staged, 1 missing; waiting: 1 for a slot (1/1 unavailable: 1 missing)",
			},
		},
		{
			name: "a slot that has served is taken back and makes room at once",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a", slot(wanted)), member("b", staged)}},
			want: Step{
				Grant: []string{"b"}, TakeBack: []string{"a"},
				Counts: Counts{Replicas: 2, Ready: 2, UpToDate: 1, Updating: 1},
				Reason: infrav1.ReasonRolloutInProgress, Message: "1/2 updated; 1 staged",
			},
		},
		{
			name: "a slot for another digest is taken back, but counts until that is seen",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a", staged, slot(older)), member("b", staged)}},
			want: Step{
				TakeBack: []string{"a"}, Counts: Counts{Replicas: 2, Ready: 2, Updating: 2, Unavailable: 1},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/2 updated; 2 staged; waiting: 1 for a slot (1/1 unavailable: a starts)",
			},
		},
		{
			name: "a member in the middle counts without its slot",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a", at(infrav1.UpdateDraining)), member("b", staged)}},
			want: Step{
				Counts:  Counts{Replicas: 2, Ready: 2, Updating: 2, Unavailable: 1},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/2 updated; 1 staged, 1 draining (a); waiting: 1 for a slot (1/1 unavailable: a draining)",
			},
		},
		{
			name: "paused: staging goes on, no new slots",
			view: View{
				Replicas: 2, Digest: wanted, Rollout: infrav1.Rollout{Paused: true},
				Members: []Member{member("a", staged), member("b", outdated)},
			},
			want: Step{
				Align: []string{"b"}, Counts: Counts{Replicas: 2, Ready: 2, Updating: 2},
				Reason: infrav1.ReasonRolloutPaused, Message: "0/2 updated; 1 waiting to stage, 1 staged; paused: no new slots",
			},
		},
		{
			name: "halted: no new slots, those in use finish",
			view: View{Replicas: 3, Digest: wanted, Rollout: rollout(intstr.FromInt32(2), intstr.FromInt32(1)), Members: []Member{
				member("a", at(infrav1.UpdateRolledBack), slot(wanted)),
				member("b", at(infrav1.UpdateBooting), slot(wanted), down), member("c", staged),
			}},
			want: Step{
				TakeBack: []string{"a"},
				Counts:   Counts{Replicas: 3, Ready: 2, Updating: 2, Degraded: 1, Unavailable: 1}, Reason: infrav1.ReasonHalted,
				Message: "0/3 updated; 1 staged, 1 booting (b), 1 rolled back (a); " +
					"halted: 1 failed, maxFailed is 1: change the image or delete the failed machines",
			},
		},
		{
			name: "a member that serves again after a failure costs no budget, below maxFailed the rollout goes on",
			view: View{Replicas: 3, Digest: wanted, Rollout: rollout(intstr.FromInt32(1), intstr.FromInt32(2)), Members: []Member{
				member("a", at(infrav1.UpdateRolledBack)), member("b", staged), member("c", staged),
			}},
			want: Step{
				Grant: []string{"b"}, Counts: Counts{Replicas: 3, Ready: 3, Updating: 2, Degraded: 1},
				Reason:  infrav1.ReasonRolloutInProgress,
				Message: "0/3 updated; 2 staged, 1 rolled back (a); waiting: 1 for a slot (1/1 unavailable: b starts)",
			},
		},
		{
			name: "nobody left but those that failed: halted, however few",
			view: View{Replicas: 2, Digest: wanted, Rollout: rollout(intstr.FromInt32(1), intstr.FromInt32(2)), Members: []Member{
				member("a", at(infrav1.UpdateFailed), down), member("b"),
			}},
			want: Step{
				Counts: Counts{Replicas: 2, Ready: 1, UpToDate: 1, Degraded: 1, Unavailable: 1}, Reason: infrav1.ReasonHalted,
				Message: "1/2 updated; 1 failed (a); halted: 1 failed, maxFailed is 2: change the image or delete the failed machines",
			},
		},
		{
			name: "another image after a halt starts afresh",
			view: View{Replicas: 2, Digest: "sha256:newer", Rollout: one, Members: []Member{
				member("a", at(infrav1.UpdateRolledBack)), member("b", func(m *Member) { m.Booted, m.Aim, m.Step = older, "sha256:newer", infrav1.UpdateStaged }),
			}},
			want: Step{
				Grant: []string{"b"}, Counts: Counts{Replicas: 2, Ready: 2, Updating: 2},
				Reason: infrav1.ReasonRolloutInProgress, Message: "0/2 updated; 1 waiting to stage, 1 staged",
			},
		},
		{
			name: "members on their way out are as good as gone",
			view: View{Replicas: 2, Digest: wanted, Rollout: one, Members: []Member{member("a", deleting), member("b"), member("c", joining)}},
			want: Step{
				Counts: Counts{Replicas: 3, Ready: 1, UpToDate: 1, Updating: 1, Unavailable: 1},
				Reason: infrav1.ReasonRolloutInProgress, Message: "1/2 updated; 1 joining (c)",
			},
		},
		{
			name: "who goes first: asked for, down, outdated, oldest",
			view: View{Replicas: 1, Digest: wanted, Rollout: one, Members: []Member{
				member("a", age(time.Hour)), member("b"), member("c", outdated), member("d", down), member("e", deleteFirst),
			}},
			want: Step{
				Delete: []string{"e", "d", "c", "a"}, Counts: Counts{Replicas: 5, Ready: 1, UpToDate: 1},
				Reason: infrav1.ReasonAllUpdated, Message: "1/1 updated",
			},
		},
		{
			name: "a victim that Cluster API has not adopted yet is waited for, nobody goes in its stead",
			view: View{Replicas: 1, Digest: wanted, Rollout: one, Members: []Member{member("a"), member("b", joining, ownerless)}},
			want: Step{
				Counts: Counts{Replicas: 2, Ready: 1, UpToDate: 1}, Reason: infrav1.ReasonAllUpdated,
				Message: "1/1 updated; 1 to be deleted once Cluster API has adopted them",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Plan(test.view)); diff != "" {
				t.Errorf("Plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	for _, test := range []struct {
		value *intstr.IntOrString
		total int
		want  int
	}{
		{nil, 10, 1},
		{ptr.To(intstr.FromInt32(3)), 10, 3},
		{ptr.To(intstr.FromString("25%")), 10, 2},
		{ptr.To(intstr.FromString("1%")), 10, 1},
		{ptr.To(intstr.FromString("100%")), 10, 10},
		{ptr.To(intstr.FromString("50%")), 0, 1},
		{ptr.To(intstr.FromString("many")), 10, 1},
	} {
		if got := budget(test.value, test.total); got != test.want {
			t.Errorf("budget(%v, %d) = %d, want %d", test.value, test.total, got, test.want)
		}
	}
}

// TestMessageStaysShort: however many members are in trouble, a message names a few.
func TestMessageStaysShort(t *testing.T) {
	view := View{Replicas: 1000, Digest: wanted, Rollout: rollout(intstr.FromString("50%"), intstr.FromInt32(1000))}
	for i := range view.Replicas {
		view.Members = append(view.Members, member(fmt.Sprintf("r%04d", i), at(infrav1.UpdateStaged)))
		if i%2 == 0 {
			view.Members[i].Slot, view.Members[i].Step = wanted, infrav1.UpdateBooting
		}
	}
	want := "0/1000 updated; 500 staged, 500 booting (r0000, r0002, r0004 and 497 more); " +
		"waiting: 500 for a slot (500/500 unavailable: r0000 booting, r0002 booting, r0004 booting, 497 more)"
	if diff := cmp.Diff(want, Plan(view).Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}
