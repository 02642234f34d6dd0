// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// rest is a host of which no operation is asked.
func rest(v View) Step {
	var s Step
	switch {
	case v.Spec.Claim == "":
		s = free(v)
	case v.installs():
		// Refused by open, which says why.
		return v.saying(infrav1.PhaseProvisioning, infrav1.ReasonWaitingForData, "the install cannot begin")
	case v.Spec.providerID() != "" && v.Record.Installed != v.Spec.providerID() && v.Agent.Connected:
		// Claimed as it runs: that its agent reports is all the proof there can be.
		r := v.Record
		r.Installed = v.Spec.providerID()
		return v.saying(infrav1.PhaseJoining, infrav1.ReasonProvisioned, "the host was claimed as it runs").saving(r)
	default:
		s = keep(v)
	}
	if behind := v.behind(); behind != "" {
		s.Message += "; " + behind
	}
	return s
}

// behind tells of counters below the acknowledged ones: they ask for nothing, which must not go unnoticed.
func (v View) behind() string {
	var said []string
	say := func(name string, asked, done int64) {
		if asked < done {
			said = append(said, fmt.Sprintf("%s %d is behind the acknowledged %d and asks for nothing until it is higher", name, asked, done))
		}
	}
	say("rebootCounter", v.Spec.Counters.RebootCounter, v.Record.Acknowledged.RebootCounter)
	say("repaveCounter", v.Spec.Counters.RepaveCounter, v.Record.Acknowledged.RepaveCounter)
	return strings.Join(said, "; ")
}

// free is an unclaimed host. Its power is left as it is.
func free(v View) Step {
	switch {
	case v.Spec.HasBMC && v.BMC.Trouble != "":
		return v.saying(infrav1.PhasePending, v.BMC.Trouble, v.BMC.Message)
	case v.Spec.HasBMC && v.BMC.At.IsZero():
		return v.saying(infrav1.PhasePending, infrav1.ReasonNotRead, "the BMC has not been read yet")
	}
	s := v.saying(infrav1.PhaseAvailable, infrav1.ReasonAvailable, "the host is free to be claimed")
	s.Ready = true
	return s
}

// keep is a claimed host that runs, or should.
func keep(v View) Step {
	s := serving(v)
	if !v.Spec.HasBMC || v.BMC.At.IsZero() || v.BMC.Trouble != "" {
		return s
	}
	switch {
	case v.Spec.Online && v.BMC.Power == infrav1.PowerOff:
		return v.steer(s, PowerOn)
	case !v.Spec.Online && v.BMC.Power == infrav1.PowerOn:
		// An operating system that was asked and did not follow has its power cut.
		asked := strings.HasPrefix(v.BMC.Last.ID, steerID(ShutDown, "")) && v.Now.Sub(v.BMC.Last.At) < v.Limits.ShutdownGrace
		if v.Agent.Connected && v.BMC.CanShutDown && !asked {
			return v.steer(s, ShutDown)
		}
		return v.steer(s, ForceOff)
	case v.BMC.Power == infrav1.PowerPoweringOn || v.BMC.Power == infrav1.PowerPoweringOff:
		return v.reading(s)
	}
	return s
}

func serving(v View) Step {
	var s Step
	switch {
	case !v.Spec.Online:
		s = v.saying(infrav1.PhaseReady, infrav1.ReasonPoweredOff, "the host is off, as spec.online asks")
		if v.Spec.HasBMC && v.BMC.Power != infrav1.PowerOff {
			s.Message = "the host is being powered off, as spec.online asks"
		}
	case v.Spec.providerID() == "" || v.Record.Installed != v.Spec.providerID():
		s = v.saying(infrav1.PhaseProvisioning, infrav1.ReasonWaitingForData, "the claim names no netboot image, and no agent has reported yet")
	case v.Agent.Connected:
		s = v.saying(infrav1.PhaseReady, infrav1.ReasonServing, fmt.Sprintf("the host serves RepaveMachine %s", v.Spec.Claim))
		s.Ready = true
		if v.Agent.NodeName == "" {
			s.Phase = infrav1.PhaseJoining
		}
	case v.Agent.Known:
		s = v.saying(infrav1.PhaseJoining, infrav1.ReasonAgentLost, "the agent of the host does not renew its Lease")
	default:
		s = v.saying(infrav1.PhaseJoining, infrav1.ReasonNeverConnected, "no agent has reported yet")
	}
	return s
}

// steer brings an idle host to the wanted power. No intent is saved: the command asks for a state and is harmless when it is
// there. Its ID holds a stretch of time, so that a BMC which does not follow is asked once in each.
func (v View) steer(s Step, verb Verb) Step {
	stretch := v.Limits.CommandPause
	turn := v.Now.UnixNano() / int64(stretch)
	id := steerID(verb, fmt.Sprint(turn))
	left := time.Duration((turn+1)*int64(stretch) - v.Now.UnixNano())
	if v.BMC.Busy || v.BMC.Last.ID == id {
		return s.doing(None{}, left)
	}
	if v.age() > v.Limits.Poll {
		return v.reading(s)
	}
	return s.doing(Command{ID: id, Verb: verb}, left)
}

func steerID(verb Verb, turn string) string { return "power/" + string(verb) + "/" + turn }
