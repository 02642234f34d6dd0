// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"maps"
	"time"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// world is a host with all around it: what the API server keeps, what the process remembers, and the box itself.
type world struct {
	now    time.Time
	limits Limits
	fatal  func(format string, args ...any)
	ids    int
	paths  map[[2]infrav1.OperationStep]bool

	// kept by the API server
	spec       Spec
	deleting   bool
	annotation string
	status     infrav1.RepaveHostStatus
	agentSays  Agent
	netboot    Netboot

	process process
	box     box

	cuts, ons, installs map[string]int // by attempt or order
	closed              int            // operations that ended with success and had a counter
	raised              int            // times that an acknowledged counter rose
}

// process is all that a restart forgets.
type process struct {
	bmc     BMC
	known   map[string]Outcome
	running string
	verb    Verb
	ends    time.Time
}

// box is the hardware.
type box struct {
	power    infrav1.PowerState
	becomes  infrav1.PowerState // "" or what it is on its way to
	at       time.Time          // when it gets there
	order    string             // of the one-time boot source
	bootID   int
	disk     infrav1.InstallMark
	hasAgent bool
	writing  string // order being written
	written  time.Time
	bmcDead  bool
	ignores  bool // resets are accepted and nothing comes of them
	failing  bool // the installer gives up
}

func newWorld(fatal func(string, ...any)) *world {
	w := &world{
		now: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC), limits: DefaultLimits(), fatal: fatal,
		paths: map[[2]infrav1.OperationStep]bool{}, cuts: map[string]int{}, ons: map[string]int{}, installs: map[string]int{},
	}
	w.spec = Spec{HasBMC: true, HasRootDevice: true, Online: true}
	w.box.power = infrav1.PowerOff
	w.restart()
	return w
}

func (w *world) restart() { w.process = process{known: map[string]Outcome{}} }

func (w *world) record() Record {
	r, err := Restore(w.annotation, w.status)
	if err != nil {
		w.fatal("the record that was saved cannot be read: %v", err)
	}
	return r
}

func (w *world) view() View {
	w.ids++
	agent := w.agentSays
	agent.Connected = w.box.power == infrav1.PowerOn && w.box.hasAgent && w.box.writing == "" && agent.Known
	bmc := w.process.bmc
	bmc.Busy = w.process.running != ""
	return View{
		Now: w.now, Limits: w.limits, FreshID: fmt.Sprintf("op%d", w.ids), Deleting: w.deleting,
		Spec: w.spec, Record: w.record(), BMC: bmc, Agent: agent, Netboot: w.netboot,
	}
}

// When a look is cut short.
const (
	atNoTime     = iota
	beforeSaving // decided, nothing done
	betweenSaves // the annotation is saved, status is not
	afterActing  // all done, nothing remembered
)

// look is one reconcile. It gives the step that was decided.
func (w *world) look(kill int) Step {
	before := w.view()
	s := Next(before)
	w.check(before, s)
	if kill == beforeSaving {
		w.restart()
		return s
	}
	if s.Save {
		w.annotation = s.Record.Encode()
		w.follow(before.Record, s.Record)
		if kill == betweenSaves {
			w.restart()
			return s
		}
	}
	w.mirror(w.record(), s)
	switch e := s.Effect.(type) {
	case Refresh:
		w.readBMC()
	case Command:
		w.command(e)
	}
	if kill == afterActing {
		w.restart()
	}
	return s
}

func (w *world) mirror(r Record, s Step) {
	w.status.Phase, w.status.Operation, w.status.Operations, w.status.Installed = s.Phase, r.Operation, r.Acknowledged, r.Installed
	w.status.History = nil
	if r.Ended != nil {
		w.status.History = []infrav1.OperationRecord{*r.Ended}
	}
}

func (w *world) check(v View, s Step) {
	changed := s.Record.Encode() != v.Record.Encode() || s.Record.Seen != v.Record.Seen
	if s.Save != changed {
		w.fatal("Save is %v, but the record changed: %v", s.Save, changed)
	}
	if _, none := s.Effect.(None); s.Save && !none {
		w.fatal("a step saves and acts: %+v", s)
	}
	if s.Phase == "" || s.Reason == "" || s.Message == "" {
		w.fatal("a step says nothing: %+v", s)
	}
	acked, asked := s.Record.Acknowledged, w.spec.Counters
	if acked.RebootCounter > asked.RebootCounter || acked.RepaveCounter > asked.RepaveCounter {
		w.fatal("acknowledged %+v, asked for %+v", acked, asked)
	}
}

// follow keeps the books about what was saved.
func (w *world) follow(old, saved Record) {
	step := func(r Record) (id string, step infrav1.OperationStep) {
		if r.Operation != nil {
			return r.Operation.ID, r.Operation.Step
		}
		return "", ""
	}
	_, from := step(old)
	if _, to := step(saved); from != to {
		w.paths[[2]infrav1.OperationStep{from, to}] = true
	}
	before, after := old.Acknowledged, saved.Acknowledged
	if after.RebootCounter < before.RebootCounter || after.RepaveCounter < before.RepaveCounter {
		w.fatal("an acknowledged counter fell")
	}
	if !old.Seen {
		return
	}
	if before != after {
		w.raised++
	}
	if old.Operation != nil && old.Operation.Counter > 0 && saved.Operation == nil && saved.Ended != nil &&
		saved.Ended.ID == old.Operation.ID && saved.Ended.Outcome == infrav1.OutcomeSucceeded {
		w.closed++
	}
}

func (w *world) readBMC() {
	b := &w.process.bmc
	if w.box.bmcDead {
		b.Trouble, b.Message = infrav1.ReasonUnreachable, "connection refused"
		return
	}
	*b = BMC{At: w.now, Power: w.box.power, CanShutDown: true, Last: b.Last, Fingerprint: "aa"}
}

// command is metal/redfish's promise: once for each ID, and nothing where the state is there already.
func (w *world) command(c Command) {
	if w.process.running != "" {
		return
	}
	if known, done := w.process.known[c.ID]; done {
		w.process.bmc.Last = known
		return
	}
	w.process.running, w.process.verb, w.process.ends = c.ID, c.Verb, w.now.Add(time.Minute)
	w.readBMC()
	if w.box.bmcDead {
		w.finish("unreachable")
		return
	}
	attempt := "none"
	if op := w.record().Operation; op != nil {
		attempt = OrderID(*op)
	}
	switch c.Verb {
	case NetworkBoot:
		w.box.order = c.Order
		w.finish("")
	case PowerOn:
		if w.box.power == infrav1.PowerOff && w.box.becomes == "" && !w.box.ignores {
			w.ons[attempt]++
			w.box.becomes, w.box.at = infrav1.PowerOn, w.now.Add(7*time.Second)
		}
	case ForceOff, ShutDown:
		if c.Verb == ShutDown && !w.box.hasAgent {
			return
		}
		if w.box.power == infrav1.PowerOn && w.box.becomes == "" && !w.box.ignores {
			w.cuts[attempt]++
			w.box.becomes, w.box.at = infrav1.PowerOff, w.now.Add(7*time.Second)
		}
	}
}

func (w *world) finish(message string) {
	last := Outcome{ID: w.process.running, At: w.now, Failed: message != "", Message: message}
	w.process.known[last.ID], w.process.bmc.Last, w.process.running = last, last, ""
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	if w.box.becomes != "" && !w.now.Before(w.box.at) {
		w.box.power, w.box.becomes = w.box.becomes, ""
		w.box.writing = ""
		if w.box.power == infrav1.PowerOn {
			w.boot()
		}
	}
	if w.box.writing != "" && !w.now.Before(w.box.written) {
		w.install()
	}
	if p := &w.process; p.running != "" {
		there := p.verb == PowerOn && w.box.power == infrav1.PowerOn || p.verb != PowerOn && w.box.power == infrav1.PowerOff
		if there || !w.now.Before(p.ends) {
			w.readBMC()
			w.finish(map[bool]string{false: "the BMC accepted it, but nothing came of it"}[there])
		}
	}
	if w.process.bmc.Trouble != "" && !w.box.bmcDead || w.process.bmc.At.IsZero() {
		w.readBMC() // actors read by themselves at first, and until the BMC answers
	}
}

func (w *world) boot() {
	order := w.box.order
	w.box.order = ""
	if Boot(BootView{Order: order, Operation: w.record().Operation, Redeemed: w.netboot.RedeemedOrder, Ending: w.ending()}) == Installer {
		w.netboot.RedeemedOrder = order
		w.installs[order]++
		w.box.writing, w.box.written = order, w.now.Add(3*time.Minute)
		return
	}
	w.start()
}

func (w *world) ending() bool { return w.spec.Claim != "" && w.spec.Desired == nil }

func (w *world) install() {
	order := w.box.writing
	w.box.writing = ""
	if w.box.failing {
		w.netboot.Failure = infrav1.InstallFailure{Order: order, Reason: infrav1.ReasonDiskNotFound, Message: "no disk matches"}
		return
	}
	w.box.disk = infrav1.InstallMark{Order: order, Digest: w.netboot.Image.Digest}
	w.box.hasAgent = true
	w.start()
}

// start is a boot from disk.
func (w *world) start() {
	w.box.bootID++
	if w.box.hasAgent {
		w.agentSays = Agent{Known: true, BootID: fmt.Sprint("boot", w.box.bootID), NodeName: "n", Install: w.box.disk}
	}
}

// serve is the netboot server fetching what the open operation names.
func (w *world) serve() {
	if op := w.record().Operation; op != nil && op.Digest != "" {
		w.netboot.Image = infrav1.NetbootImageStatus{Digest: op.Digest, State: infrav1.ImageReady}
	}
}

// settle lets time pass until nothing is done any more, and gives the last step.
func (w *world) settle(most time.Duration) Step {
	s, quiet := Step{}, 0
	for passed := time.Duration(0); passed < most && quiet < 40; passed += 3 * time.Second {
		s = w.look(atNoTime)
		w.serve()
		w.pass(3 * time.Second)
		if _, none := s.Effect.(None); none && !s.Save && w.process.running == "" && w.box.becomes == "" && w.box.writing == "" {
			quiet++
		} else {
			quiet = 0
		}
		if op := w.record().Operation; op != nil && op.Step != infrav1.StepGaveUp {
			quiet = 0
		}
	}
	return s
}

func (w *world) claim(machine, digest string) {
	w.spec.Claim = machine
	w.spec.Desired = &infrav1.HostDesired{ProviderID: "repave://ns/h/" + machine}
	if digest != "" {
		w.spec.Desired.Netboot = &infrav1.Netboot{Image: infrav1.Image{Ref: "registry.example/os@" + digest}}
	}
}

func (w *world) merge(into map[[2]infrav1.OperationStep]bool) { maps.Copy(into, w.paths) }
