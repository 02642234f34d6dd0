// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package goal

import (
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// View is all that a decision looks at. Images are named by their digest, "" for none.
type View struct {
	NodeName string
	Booted   string
	Staged   string
	Rollback string
	// Wish is nil where nothing is wished of the host.
	Wish *infrav1.HostDesired
	// Memory that has seen Wish and was settled with the images above.
	Memory Memory
}

// Goal is what is missing, and how far the agent is.
type Goal struct {
	// Steps in their order; empty: nothing to do.
	Steps    []Step
	Activity infrav1.AgentActivity
	// Failure that keeps the wish from being reached; nil: none.
	Failure *infrav1.AgentFailure
}

// Resolve says what is missing between a host and what is wished of it.
func Resolve(v View) Goal {
	g := Goal{Failure: failure(v)}
	if v.Wish != nil && v.Wish.BootstrapDataSecretName != "" {
		g.Steps = append(g.Steps, Join{Secret: v.Wish.BootstrapDataSecretName, ProviderID: v.Wish.ProviderID, NodeName: v.NodeName})
	}
	if g.Failure == nil {
		g.Steps = append(g.Steps, imageSteps(v)...)
	}
	g.Activity = activity(v, g)
	return g
}

// imageSteps is the way from the images of the host to the wished one.
func imageSteps(v View) []Step {
	digest := wished(v)
	if digest == "" || v.Booted == digest {
		return nil
	}
	stage := Stage{Image: Image{Ref: v.Wish.Image.Ref, Digest: digest, PullSecret: pullSecret(v.Wish.Image)}}
	switch {
	case v.Wish.State != infrav1.DesiredBooted && v.Staged == digest:
		return nil
	case v.Wish.State != infrav1.DesiredBooted:
		return []Step{stage}
	case v.Staged == digest:
		return []Step{Boot{Digest: digest}}
	case v.Rollback == digest:
		return []Step{RollBack{Digest: digest}}
	default:
		return []Step{stage, Boot{Digest: digest}}
	}
}

// failure is what stands in the way: what was remembered, or a boot that cannot be asked for a second time.
func failure(v View) *infrav1.AgentFailure {
	digest := wished(v)
	if digest == "" || v.Booted == digest {
		return nil
	}
	boot := v.Wish.State == infrav1.DesiredBooted
	switch {
	case v.Memory.Failure != nil && v.Memory.Failure.Digest == digest:
		return v.Memory.Failure
	case boot && v.Memory.Reached:
		return &infrav1.AgentFailure{
			Digest: digest, Stage: infrav1.FailedBoot, Reason: infrav1.ReasonRolledBack,
			Message: "the image ran, and the host has left it since; it is not booted again by itself",
		}
	case boot && v.Memory.Wish.Blind:
		return &infrav1.AgentFailure{
			Digest: digest, Stage: infrav1.FailedBoot, Reason: infrav1.ReasonBootFailed,
			Message: "the journal of the agent was lost, and the image may have been tried already; ask for the boot once more",
		}
	}
	return nil
}

// activity is what the agent is at, for people and for the controller.
func activity(v View, g Goal) infrav1.AgentActivity {
	if act := v.Memory.Act; act != nil && act.Verb != VerbStage {
		return infrav1.AgentRebooting
	}
	for _, step := range g.Steps {
		if _, staging := step.(Stage); staging {
			return infrav1.AgentStaging
		}
	}
	if digest := wished(v); digest != "" && v.Staged == digest && v.Booted != digest {
		return infrav1.AgentStaged
	}
	return infrav1.AgentIdle
}

func wished(v View) string {
	if v.Wish == nil {
		return ""
	}
	return v.Wish.Image.Digest()
}

func pullSecret(image *infrav1.Image) string {
	if image.PullSecretRef == nil {
		return ""
	}
	return image.PullSecretRef.Name
}
