// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// fakeBMC keeps a power state, records what was asked and when, and can fail or be slow.
type fakeBMC struct {
	mu     sync.Mutex
	power  PowerState
	fail   error
	slow   time.Duration
	resets []ResetType
	looks  []time.Duration // since the start
	start  time.Time
	closed int
}

func (f *fakeBMC) inspect(ctx context.Context) (Identity, State, error) {
	state, err := f.Read(ctx)
	return Identity{Model: "fake", ResetTypes: []string{"On"}}, state, err
}

func (f *fakeBMC) Read(ctx context.Context) (State, error) {
	f.mu.Lock()
	slow, err, power := f.slow, f.fail, f.power
	f.looks = append(f.looks, time.Since(f.start).Round(time.Millisecond))
	f.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return State{}, &Error{Class: Unreachable, Op: "reading", Message: "stopped"}
	}
	return State{Power: power}, err
}

func (f *fakeBMC) Reset(_ context.Context, resetType ResetType) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resets = append(f.resets, resetType)
	return f.fail
}

func (f *fakeBMC) SetBootOnce(context.Context, Boot) error { return nil }
func (f *fakeBMC) Fingerprint() string                     { return "f1" }
func (f *fakeBMC) Close(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

func (f *fakeBMC) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeBMC) lookedAt() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.looks)
}

// inTime runs a test on a clock of its own, with one actor over a fake BMC.
func inTime(t *testing.T, test func(g *WithT, actors *Actors, fake *fakeBMC)) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeBMC{power: Off, start: time.Now()}
		actors := newActors(Options{}, func(Endpoint, Options) (bmc, error) { return fake, nil })
		actors.Connect("h", Endpoint{Address: "https://h"})
		synctest.Wait()
		test(NewWithT(t), actors, fake)
		if err := actors.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if fake.closed == 0 {
			t.Error("the session was not given back")
		}
	})
}

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

var unreachable = &Error{Class: Unreachable, Op: "reading", Message: "no answer"}

func TestIdleBMCsAreReadRarely(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		actors.Connect("h", Endpoint{Address: "https://h"})
		pass(61 * time.Minute)
		g.Expect(len(fake.lookedAt())).To(BeNumerically("~", 7, 1))
	})
}

func TestBackOffGrowsAndACommandCutsIt(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		fake.set(func() { fake.fail = unreachable })
		g.Expect(actors.Ask("h", Command{Verb: Refresh})).To(BeTrue())
		pass(time.Hour)
		looks := fake.lookedAt()[1:]
		want := 5 * time.Second
		for i := range len(looks) - 1 {
			wait := looks[i+1] - looks[i]
			g.Expect(wait).To(BeNumerically("~", want, want/10+time.Millisecond), "pause %d", i)
			want = min(2*want, 5*time.Minute)
		}
		g.Expect(want).To(Equal(5*time.Minute), "the longest was reached")
		reading, _ := actors.Reading("h")
		g.Expect(reading.Err).To(Equal(unreachable))
		g.Expect(reading.At).To(Equal(fake.start), "the last good one")

		fake.set(func() { fake.fail = nil })
		before := time.Now()
		g.Expect(actors.Ask("h", Command{ID: "1", Verb: ForceOff})).To(BeTrue())
		synctest.Wait()
		reading, _ = actors.Reading("h")
		g.Expect(reading.Err).To(BeNil())
		g.Expect(reading.Last.Err).NotTo(HaveOccurred())
		g.Expect(reading.At).To(Equal(before))
	})
}

func TestWrongPasswordsAreTriedRarely(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		fake.set(func() { fake.fail = &Error{Class: Auth} })
		actors.Ask("h", Command{Verb: Refresh})
		pass(10 * time.Minute)
		g.Expect(len(fake.lookedAt())).To(BeNumerically("<=", 6))
	})
}

func TestPowerIsAwaitedForAMinute(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		started := time.Now()
		g.Expect(actors.Ask("h", Command{ID: "1", Verb: PowerOn})).To(BeTrue())
		pass(30 * time.Second)
		reading, _ := actors.Reading("h")
		g.Expect(reading.Running).To(Equal(&Command{ID: "1", Verb: PowerOn}))
		g.Expect(reading.At).To(BeTemporally("~", time.Now(), time.Second), "read each second")
		g.Expect(actors.Ask("h", Command{ID: "1", Verb: PowerOn})).To(BeTrue(), "on its way")
		g.Expect(actors.Ask("h", Command{ID: "2", Verb: ForceOff})).To(BeFalse(), "one at a time")
		g.Expect(actors.Ask("h", Command{Verb: Refresh})).To(BeFalse())

		fake.set(func() { fake.fail = unreachable })
		pass(10 * time.Second)
		reading, _ = actors.Reading("h")
		g.Expect(reading.Err).To(Equal(unreachable), "the reading says so meanwhile")
		fake.set(func() { fake.fail = nil })
		pass(30 * time.Second)
		reading, _ = actors.Reading("h")
		g.Expect(classOf(reading.Last.Err)).To(Equal(Ignored))
		g.Expect(reading.Last.At.Sub(started)).To(Equal(time.Minute))
		g.Expect(fake.resets).To(Equal([]ResetType{"On"}))
	})
}

// TestAPasswordChangedMeanwhileIsTriedOnce: awaiting the power with a wrong one, every second for a minute, locks the account.
func TestAPasswordChangedMeanwhileIsTriedOnce(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		g.Expect(actors.Ask("h", Command{ID: "1", Verb: PowerOn})).To(BeTrue())
		pass(1500 * time.Millisecond)
		before := len(fake.lookedAt())
		fake.set(func() { fake.fail = &Error{Class: Auth, Op: "logging in", Message: "refused"} })
		pass(30 * time.Second)
		g.Expect(fake.lookedAt()).To(HaveLen(before + 1))
		reading, _ := actors.Reading("h")
		g.Expect(reading.Last).To(HaveField("Err", HaveField("Class", Auth)))
	})
}

func TestErrorsOfAResetAreHeldAgainstWhatIsRead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after PowerState
		want  Class
	}{
		{"refused, and not so", Off, Conflict},
		{"refused, but done", On, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
				client := &refusing{fakeBMC: fake, after: tc.after}
				actors.open = func(Endpoint, Options) (bmc, error) { return client, nil }
				actors.Connect("i", Endpoint{Address: "https://i"})
				g.Expect(actors.Ask("i", Command{ID: "1", Verb: PowerOn})).To(BeTrue())
				synctest.Wait()
				reading, _ := actors.Reading("i")
				g.Expect(classOf(reading.Last.Err)).To(Equal(tc.want))
			})
		})
	}
}

// refusing answers a reset with a conflict, whatever it does.
type refusing struct {
	*fakeBMC
	after PowerState
}

func (r *refusing) Reset(context.Context, ResetType) error {
	r.set(func() { r.power = r.after })
	return &Error{Class: Conflict, Op: "resetting", Message: "answered 409"}
}

func TestMailbox(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		fake.set(func() { fake.slow = time.Second; fake.power = On })
		ask := func(c Command) bool { return actors.Ask("h", c) }
		g.Expect(ask(Command{Verb: Refresh})).To(BeTrue())
		synctest.Wait() // it runs now
		g.Expect(ask(Command{Verb: Refresh})).To(BeTrue(), "one more, as this one may have read already")
		g.Expect(ask(Command{Verb: Refresh})).To(BeTrue(), "that one will do")
		g.Expect(ask(Command{ID: "1", Verb: PowerOn})).To(BeTrue(), "a queued Refresh makes way")
		g.Expect(ask(Command{ID: "1", Verb: PowerOn})).To(BeTrue(), "queued already")
		g.Expect(ask(Command{ID: "2", Verb: ForceOff})).To(BeFalse(), "another is queued")
		g.Expect(ask(Command{Verb: Refresh})).To(BeFalse())
		g.Expect(ask(Command{Verb: PowerOn})).To(BeFalse(), "no ID")
		g.Expect(ask(Command{ID: "3", Verb: "Explode"})).To(BeFalse(), "no verb")
		g.Expect(actors.Ask("nobody", Command{Verb: Refresh})).To(BeFalse())
		pass(5 * time.Second)
		reading, _ := actors.Reading("h")
		g.Expect(reading.Last.ID).To(Equal("1"))
		g.Expect(fake.resets).To(BeEmpty(), "it is on")
	})
}

func TestForgetCutsACommandShortAndRemembersIt(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		on := Command{ID: "1", Verb: PowerOn}
		g.Expect(actors.Ask("h", on)).To(BeTrue())
		pass(10 * time.Second)
		actors.Forget("h")
		synctest.Wait()
		g.Expect(fake.closed).To(Equal(1))

		actors.Connect("h", Endpoint{Address: "https://h"})
		g.Expect(actors.Ask("h", on)).To(BeTrue())
		pass(2 * time.Minute)
		reading, _ := actors.Reading("h")
		g.Expect(classOf(reading.Last.Err)).To(Equal(Transient))
		g.Expect(fake.resets).To(HaveLen(1))
	})
}

func TestReadingIsACopy(t *testing.T) {
	inTime(t, func(g *WithT, actors *Actors, fake *fakeBMC) {
		reading, _ := actors.Reading("h")
		reading.Identity.ResetTypes[0] = "changed"
		again, _ := actors.Reading("h")
		g.Expect(again.Identity.ResetTypes).To(Equal([]string{"On"}))
	})
}

func TestLedgerForgetsTheOldest(t *testing.T) {
	g := NewWithT(t)
	book := &ledger{}
	for i := range remembered + 1 {
		book.begin(Outcome{ID: string(rune('a' + i))})
	}
	_, oldest := book.find("a")
	_, second := book.find("b")
	g.Expect(oldest).To(BeFalse())
	g.Expect(second).To(BeTrue())
	g.Expect(book.outcomes).To(HaveLen(remembered))
}
