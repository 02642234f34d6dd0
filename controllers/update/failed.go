// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"strings"
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// failed withdraws the boot wish, gives the cordon back once the Node serves again, and rests: the image is not tried a second
// time. Only an image that comes up late after all, proven, ends it; so does another wish.
func failed(m machine) Step {
	step, reason, message := m.verdict()
	rest := func(effect Effect) Step { return m.at(step, effect, reason, message) }
	switch {
	case m.proves() && !m.failedAt(infrav1.FailedBoot):
		return m.at(infrav1.UpdateUncordoning, None{}, infrav1.ReasonVerifying, "came up late, uncordoning the Node")
	case m.Host.Desired != m.update.Digest || m.Host.State != infrav1.DesiredStaged:
		return rest(SetDesired{m.update.Digest, infrav1.DesiredStaged})
	case m.Node.Cordoned && m.nodeProven() && m.Host.Connected && !m.runs():
		return rest(Uncordon{})
	default:
		return rest(None{})
	}
}

// verdict says how the image failed. What was saved stays, unless the agent's own word comes later and says more.
func (m machine) verdict() (infrav1.UpdateStep, string, string) {
	switch {
	case m.failedAt(infrav1.FailedStage):
		return infrav1.UpdateFailed, infrav1.ReasonStageFailed, m.failureMessage("could not be staged")
	case m.failedAt(infrav1.FailedBoot) && m.Host.Booted != m.update.Digest:
		return infrav1.UpdateRolledBack, infrav1.ReasonRolledBack, m.failureMessage("did not come up, the host went back")
	case m.failedAt(infrav1.FailedBoot):
		return infrav1.UpdateFailed, infrav1.ReasonBootFailed, m.failureMessage("did not come up and the host did not go back")
	case m.update.Step == infrav1.UpdateRolledBack:
		return infrav1.UpdateRolledBack, infrav1.ReasonRolledBack, m.update.Message
	default:
		return infrav1.UpdateFailed, infrav1.ReasonVerifyTimedOut, m.update.Message
	}
}

// failureMessage joins what happened with the agent's own words.
func (m machine) failureMessage(what string) string {
	words := []string{short(m.update.Digest) + " " + what}
	if m.Host.Failure.Reason != "" {
		words = append(words, m.Host.Failure.Reason)
	}
	if m.Host.Failure.Message != "" {
		words = append(words, m.Host.Failure.Message)
	}
	return clip(strings.Join(words, ": "))
}

// overdue: the saved stretch has lasted longer than it may.
func (m machine) overdue(limit time.Duration) bool {
	return !m.Now.Before(m.update.StepAt.Add(limit))
}

// gaveUp ends a wait that lasted too long.
func (m machine) gaveUp(message string) Step {
	m.update.Message = message
	if m.update.Step != infrav1.UpdateFailed {
		m.update.Step = infrav1.UpdateFailed
		m.update.StepAt.Time = m.Now
	}
	return failed(m)
}

// netbootOnly is the way of a machine that names no in-place image: only a netboot repave changes it.
func netbootOnly(v View) Step {
	m := v.begin(v.Netboot)
	if v.Update != nil && v.Update.Digest == v.Netboot {
		m = v.resume()
	}
	switch {
	case m.Node.Cordoned:
		// Left from an in-place wish that was taken back.
		return m.at(infrav1.UpdateStaging, Uncordon{}, infrav1.ReasonWaitingForRepave, "uncordoning the Node")
	case m.Host.Installed == m.update.Digest:
		return m.at(infrav1.UpdateUpToDate, None{}, infrav1.ReasonMachineUpToDate, short(m.update.Digest)+" is installed and proven")
	default:
		return m.at(infrav1.UpdateStaging, None{}, infrav1.ReasonWaitingForRepave,
			"the next repave of the host installs "+short(m.update.Digest)+"; raise its repaveCounter to ask for one")
	}
}

// short is a digest as people compare it: its first 12 hex digits.
func short(digest string) string {
	algorithm, hex, found := strings.Cut(digest, ":")
	if !found || len(hex) <= 12 {
		return digest
	}
	return algorithm + ":" + hex[:12]
}

// maxMessage is the limit of MachineUpdate.message.
const maxMessage = 1024

// clip keeps a message within the limit of its field.
func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}
