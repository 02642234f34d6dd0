// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package goal

import (
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// Verb names an act that is remembered because it must not be repeated blindly.
type Verb string

// The acts that are remembered.
const (
	VerbStage    Verb = "Stage"
	VerbBoot     Verb = "Boot"
	VerbRollBack Verb = "RollBack"
)

// StageTries is how often an image is staged under one wish while the reason is one that may pass by itself.
// With the pauses in between, a registry has about two minutes to come back.
const StageTries = 8

// Memory is what the agent must not forget between two of its lives. The zero value is that of a host freshly installed.
type Memory struct {
	Wish Wish `json:"wish"`
	// Act was begun and its outcome is not known yet.
	Act *Act `json:"act,omitempty"`
	// Tries counts the failed attempts at staging under this wish.
	Tries int32 `json:"tries,omitempty"`
	// Reached is set once the image of the wish runs.
	Reached bool `json:"reached,omitempty"`
	// Failure of the image of this wish; final until another wish.
	Failure *infrav1.AgentFailure `json:"failure,omitempty"`
	// Joined is the join that was carried out last.
	Joined Join `json:"joined"`
	// Lost is set where an earlier memory could not be read: nobody knows what was tried before.
	Lost bool `json:"lost,omitempty"`
}

// Wish is a wish as it was seen.
type Wish struct {
	// Number tells one wish from the next, also where both name the same image.
	Number int64                `json:"number,omitempty"`
	Digest string               `json:"digest,omitempty"`
	State  infrav1.DesiredState `json:"state,omitempty"`
	// Asked is set once this wish asked for a boot.
	Asked bool `json:"asked,omitempty"`
	// Blind is set where the boot was wished before the memory was lost: it may have been tried already.
	Blind bool `json:"blind,omitempty"`
}

// Act is an intent, saved before the act.
type Act struct {
	Verb   Verb   `json:"verb"`
	Digest string `json:"digest"`
	BootID string `json:"bootID"`         // of the kernel that began it
	From   string `json:"from,omitempty"` // digest that ran then
}

// See takes note of the wish. A wish for another image, or for a boot after an earlier one was taken back, is a new wish: what
// failed before is forgotten.
func (m Memory) See(desired *infrav1.HostDesired) Memory {
	var digest string
	state := infrav1.DesiredStaged
	if desired != nil {
		digest = desired.Image.Digest()
		if desired.State == infrav1.DesiredBooted {
			state = infrav1.DesiredBooted
		}
	}
	booted := state == infrav1.DesiredBooted
	if digest != m.Wish.Digest || booted && m.Wish.Asked && m.Wish.State != infrav1.DesiredBooted {
		m.Wish = Wish{Number: m.Wish.Number + 1, Digest: digest}
		m.Tries, m.Reached, m.Failure = 0, false, nil
	}
	if m.Act != nil && m.Act.Verb != VerbStage && (digest != m.Act.Digest || !booted) {
		m.Act = nil // nobody waits for its outcome any more
	}
	m.Wish.State = state
	m.Wish.Asked = m.Wish.Asked || booted
	m.Wish.Blind = m.Wish.Blind || m.Lost && booted
	m.Lost = false
	return m
}

// Settle compares what was begun with what runs now. A boot that was begun under another boot ID has been carried out, for
// better or worse; under the same boot ID it is still to come.
func (m Memory) Settle(bootID, booted, staged string) Memory {
	act := m.Act
	switch {
	case act == nil:
	case act.Verb == VerbStage:
		if staged == act.Digest || booted == act.Digest {
			m = m.Succeed()
		}
	case booted == act.Digest:
		m = m.Succeed()
	case bootID != act.BootID:
		m = m.notUp(booted)
	}
	if booted != "" && booted == m.Wish.Digest {
		m.Reached = true
		m.Failure = nil
	}
	return m
}

func (m Memory) notUp(booted string) Memory {
	if booted == m.Act.From {
		return m.Fail(infrav1.ReasonRolledBack, "the image did not come up; the host went back to the one before")
	}
	return m.Fail(infrav1.ReasonBootFailed, "the host came up with an image that was not asked for: "+booted)
}

// Begin notes the intent of a step.
func (m Memory) Begin(verb Verb, digest, bootID, from string) Memory {
	m.Act = &Act{Verb: verb, Digest: digest, BootID: bootID, From: from}
	return m
}

// Succeed closes the act.
func (m Memory) Succeed() Memory {
	m.Act = nil
	return m
}

// Retry closes the act as one that may be tried again; after StageTries of them it has failed.
func (m Memory) Retry(reason, message string) Memory {
	m.Tries++
	if m.Tries >= StageTries {
		return m.Fail(reason, message)
	}
	m.Act = nil
	return m
}

// Fail closes the act as failed. An act of an earlier wish leaves no failure behind: nobody asks for its image any more.
func (m Memory) Fail(reason, message string) Memory {
	act := m.Act
	m.Act = nil
	if act == nil || act.Digest != m.Wish.Digest {
		return m
	}
	stage := infrav1.FailedBoot
	if act.Verb == VerbStage {
		stage = infrav1.FailedStage
	}
	m.Failure = &infrav1.AgentFailure{Digest: act.Digest, Stage: stage, Reason: reason, Message: clip(message)}
	return m
}

// clip keeps a message within what the API takes.
func clip(message string) string {
	const most = 1024
	if len(message) <= most {
		return message
	}
	cut := most - len("…")
	for cut > 0 && message[cut]&0xC0 == 0x80 { // not within a rune
		cut--
	}
	return message[:cut] + "…"
}
