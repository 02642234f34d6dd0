// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
	"github.com/repave-io/cluster-api-provider-repave/agent/host"
	"github.com/repave-io/cluster-api-provider-repave/agent/journal"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func full() goal.Memory {
	return goal.Memory{
		Wish:    goal.Wish{Number: 3, Digest: "sha256:new", State: infrav1.DesiredBooted, Asked: true},
		Act:     &goal.Act{Verb: goal.VerbBoot, Digest: "sha256:new", BootID: "b", From: "sha256:<old>"},
		Tries:   2,
		Failure: &infrav1.AgentFailure{Digest: "sha256:new", Stage: infrav1.FailedStage, Reason: "r", Message: "a & b"},
		Joined:  goal.Join{Secret: "s", ProviderID: "p", NodeName: "n"},
	}
}

func files(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func TestMemoryOutlivesTheAgent(t *testing.T) {
	h := files(t)
	first, lost, err := journal.Open(h)
	if err != nil || lost {
		t.Fatalf("a fresh host: lost %v, %v", lost, err)
	}
	if diff := cmp.Diff(goal.Memory{}, first.Memory()); diff != "" {
		t.Error(diff)
	}
	if _, err := first.Update(func(goal.Memory) goal.Memory { return full() }); err != nil {
		t.Fatal(err)
	}
	second, lost, err := journal.Open(h)
	if err != nil || lost {
		t.Fatalf("lost %v, %v", lost, err)
	}
	if diff := cmp.Diff(full(), second.Memory()); diff != "" {
		t.Error(diff)
	}
}

// TestBrokenJournalIsALostOne cuts the file at each length and flips each of its bytes.
func TestBrokenJournalIsALostOne(t *testing.T) {
	whole, err := journal.Encode(full())
	if err != nil {
		t.Fatal(err)
	}
	for length := range len(whole) - 1 { // the last byte is a line feed: nothing is lost with it
		if _, err := journal.Decode(whole[:length]); err == nil {
			t.Errorf("cut at %d of %d bytes: taken for whole", length, len(whole))
		}
	}
	for at := range len(whole) - 1 {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 0x04
		memory, err := journal.Decode(flipped)
		if err == nil && !cmp.Equal(memory, full()) {
			t.Errorf("byte %d flipped: read as another memory", at)
		}
	}
}

func TestBrokenJournalIsKeptAside(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "zeroes": "\x00\x00\x00", "text": "hello", "other version": `{"version":"v0","memory":{}}`} {
		t.Run(name, func(t *testing.T) {
			h := files(t)
			if err := h.WriteFile(journal.Path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for life := range 2 { // a restart before any wish was seen knows no more
				j, lost, err := journal.Open(h)
				if err != nil || lost != (life == 0) || !j.Memory().Lost {
					t.Fatalf("life %d: lost %v, %+v, %v", life, lost, j, err)
				}
			}
			kept, err := h.ReadFile(journal.BrokenPath)
			if err != nil || string(kept) != content {
				t.Errorf("kept %q, %v", kept, err)
			}
		})
	}
}

// fullDisk takes no writes.
type fullDisk struct{ *host.Host }

func (fullDisk) WriteFile(string, []byte, fs.FileMode) error {
	return errors.New("no space left on device")
}

func TestWhatCannotBeSavedIsNotRemembered(t *testing.T) {
	j, _, err := journal.Open(fullDisk{files(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Update(func(goal.Memory) goal.Memory { return full() }); err == nil {
		t.Error("an update that is not on disk must fail")
	}
	if diff := cmp.Diff(goal.Memory{}, j.Memory()); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	whole, err := journal.Encode(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		memory, err := journal.Decode(raw)
		if err != nil {
			return
		}
		again, err := journal.Encode(memory)
		if err != nil {
			t.Fatal(err)
		}
		back, err := journal.Decode(again)
		if err != nil || !cmp.Equal(memory, back) {
			t.Errorf("written back it is another one: %v", err)
		}
	})
}
