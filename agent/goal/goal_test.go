// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package goal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

const (
	oldImage = "sha256:old"
	newImage = "sha256:new"
)

func wish(digest string, state infrav1.DesiredState) *infrav1.HostDesired {
	return &infrav1.HostDesired{Image: &infrav1.Image{Ref: "registry.example/os@" + digest}, State: state}
}

func stage(digest string) goal.Step {
	return goal.Stage{Image: goal.Image{Ref: "registry.example/os@" + digest, Digest: digest}}
}

func TestResolve(t *testing.T) {
	staged, booted := wish(newImage, infrav1.DesiredStaged), wish(newImage, infrav1.DesiredBooted)
	pulled := wish(newImage, infrav1.DesiredStaged)
	pulled.Image.PullSecretRef = &infrav1.SecretReference{Name: "pull"}
	joining := wish(oldImage, infrav1.DesiredStaged)
	joining.BootstrapDataSecretName, joining.ProviderID = "join", "repave://ns/h1/m1"
	failed := &infrav1.AgentFailure{Digest: newImage, Stage: infrav1.FailedBoot, Reason: infrav1.ReasonRolledBack, Message: "m"}

	for _, test := range []struct {
		name string
		view goal.View
		want goal.Goal
	}{
		{name: "nothing wished", view: goal.View{Booted: oldImage}, want: goal.Goal{Activity: infrav1.AgentIdle}},
		{
			name: "a wish without an in-place image",
			view: goal.View{Booted: oldImage, Wish: &infrav1.HostDesired{}}, want: goal.Goal{Activity: infrav1.AgentIdle},
		},
		{
			name: "the wished image runs", view: goal.View{Booted: newImage, Wish: booted},
			want: goal.Goal{Activity: infrav1.AgentIdle},
		},
		{
			name: "join first", view: goal.View{NodeName: "h1", Booted: oldImage, Wish: joining},
			want: goal.Goal{Activity: infrav1.AgentIdle, Steps: []goal.Step{goal.Join{Secret: "join", ProviderID: "repave://ns/h1/m1", NodeName: "h1"}}},
		},
		{
			name: "stage", view: goal.View{Booted: oldImage, Wish: staged},
			want: goal.Goal{Activity: infrav1.AgentStaging, Steps: []goal.Step{stage(newImage)}},
		},
		{
			name: "stage with a pull secret", view: goal.View{Booted: oldImage, Wish: pulled},
			want: goal.Goal{Activity: infrav1.AgentStaging, Steps: []goal.Step{
				goal.Stage{Image: goal.Image{Ref: "registry.example/os@" + newImage, Digest: newImage, PullSecret: "pull"}},
			}},
		},
		{
			name: "another image is staged: stage the wished one", view: goal.View{Booted: oldImage, Staged: "sha256:other", Wish: staged},
			want: goal.Goal{Activity: infrav1.AgentStaging, Steps: []goal.Step{stage(newImage)}},
		},
		{
			name: "staged, and no more is wished", view: goal.View{Booted: oldImage, Staged: newImage, Wish: staged},
			want: goal.Goal{Activity: infrav1.AgentStaged},
		},
		{
			name: "staged, and a boot is wished", view: goal.View{Booted: oldImage, Staged: newImage, Wish: booted},
			want: goal.Goal{Activity: infrav1.AgentStaged, Steps: []goal.Step{goal.Boot{Digest: newImage}}},
		},
		{
			name: "a boot is wished and nothing staged: stage, then boot", view: goal.View{Booted: oldImage, Wish: booted},
			want: goal.Goal{Activity: infrav1.AgentStaging, Steps: []goal.Step{stage(newImage), goal.Boot{Digest: newImage}}},
		},
		{
			name: "a boot of the image to go back to needs no pull", view: goal.View{Booted: oldImage, Rollback: newImage, Wish: booted},
			want: goal.Goal{Activity: infrav1.AgentIdle, Steps: []goal.Step{goal.RollBack{Digest: newImage}}},
		},
		{
			name: "only staging of the image to go back to: a plain stage", view: goal.View{Booted: oldImage, Rollback: newImage, Wish: staged},
			want: goal.Goal{Activity: infrav1.AgentStaging, Steps: []goal.Step{stage(newImage)}},
		},
		{
			name: "failed before: not again", view: goal.View{Booted: oldImage, Wish: booted, Memory: goal.Memory{Failure: failed}},
			want: goal.Goal{Activity: infrav1.AgentIdle, Failure: failed},
		},
		{
			name: "failed before, and the boot taken back: still not again", view: goal.View{Booted: oldImage, Wish: staged, Memory: goal.Memory{Failure: failed}},
			want: goal.Goal{Activity: infrav1.AgentIdle, Failure: failed},
		},
		{
			name: "another image failed: no matter", view: goal.View{
				Booted: oldImage, Wish: staged,
				Memory: goal.Memory{Failure: &infrav1.AgentFailure{Digest: "sha256:other"}},
			},
			want: goal.Goal{Activity: infrav1.AgentStaging, Steps: []goal.Step{stage(newImage)}},
		},
		{
			name: "the image ran and is gone: no boot loop", view: goal.View{Booted: oldImage, Staged: newImage, Wish: booted, Memory: goal.Memory{Reached: true}},
			want: goal.Goal{Activity: infrav1.AgentStaged, Failure: &infrav1.AgentFailure{
				Digest: newImage, Stage: infrav1.FailedBoot, Reason: infrav1.ReasonRolledBack,
				Message: "the image ran, and the host has left it since; it is not booted again by itself",
			}},
		},
		{
			name: "the journal was lost under this boot wish: no boot", view: goal.View{
				Booted: oldImage, Staged: newImage, Wish: booted,
				Memory: goal.Memory{Wish: goal.Wish{Blind: true}},
			},
			want: goal.Goal{Activity: infrav1.AgentStaged, Failure: &infrav1.AgentFailure{
				Digest: newImage, Stage: infrav1.FailedBoot, Reason: infrav1.ReasonBootFailed,
				Message: "the journal of the agent was lost, and the image may have been tried already; ask for the boot once more",
			}},
		},
		{
			name: "a boot is under way", view: goal.View{
				Booted: oldImage, Staged: newImage, Wish: booted,
				Memory: goal.Memory{Act: &goal.Act{Verb: goal.VerbBoot, Digest: newImage}},
			},
			want: goal.Goal{Activity: infrav1.AgentRebooting, Steps: []goal.Step{goal.Boot{Digest: newImage}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, goal.Resolve(test.view)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
