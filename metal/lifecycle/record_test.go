// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func anOperation() *infrav1.Operation {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return &infrav1.Operation{
		ID: "op1", Kind: infrav1.OperationRepave, Method: infrav1.MethodNetboot, Counter: 3, Digest: imageA,
		Step: infrav1.StepInstalling, Attempt: 2, StartedAt: at, StepAt: at, Deadline: metav1.NewTime(at.Add(time.Hour)),
	}
}

func TestRestoreMerges(t *testing.T) {
	full := Record{Seen: true, Acknowledged: infrav1.Counters{RebootCounter: 4, RepaveCounter: 2}, Operation: anOperation(), Fingerprint: "f", Installed: "p"}
	mirror := infrav1.RepaveHostStatus{
		Phase: infrav1.PhaseReady, Operations: full.Acknowledged, Operation: anOperation(), Installed: "p",
		BMC: &infrav1.BMCStatus{CertificateFingerprint: "f"},
	}
	higher := *mirror.DeepCopy()
	higher.Operations.RebootCounter = 9
	raised := full
	raised.Acknowledged.RebootCounter = 9
	closed := full
	closed.Operation = nil
	tests := []struct {
		name       string
		annotation string
		status     infrav1.RepaveHostStatus
		want       Record
	}{
		{"both", full.Encode(), mirror, full},
		{"status lost", full.Encode(), infrav1.RepaveHostStatus{}, full},
		{"annotation lost", "", mirror, full},
		{"neither was ever there", "", infrav1.RepaveHostStatus{}, Record{}},
		{"only the agent wrote status", "", infrav1.RepaveHostStatus{Agent: &infrav1.AgentStatus{BootID: "b"}}, Record{}},
		{"the higher counter counts", full.Encode(), higher, raised},
		{"the annotation closed the operation, status lags", closed.Encode(), mirror, closed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Restore(test.annotation, test.status)
			if err != nil {
				t.Fatal(err)
			}
			if got.Seen != test.want.Seen || got.Encode() != test.want.Encode() {
				t.Errorf("got %s\nwant %s", got.Encode(), test.want.Encode())
			}
		})
	}
}

func TestRestoreRefuses(t *testing.T) {
	good := Record{Seen: true, Operation: anOperation()}.Encode()
	tests := map[string]string{
		"no JSON":              "{",
		"null":                 "null",
		"another version":      strings.Replace(good, `"version":1`, `"version":2`, 1),
		"a negative counter":   `{"version":1,"acknowledged":{"rebootCounter":-1}}`,
		"an unknown field":     `{"version":1,"acked":{}}`,
		"an unknown step":      strings.Replace(good, "Installing", "Dancing", 1),
		"an unknown kind":      strings.Replace(good, `"Repave"`, `"Paint"`, 1),
		"an attempt of zero":   strings.Replace(good, `"attempt":2`, `"attempt":0`, 1),
		"an operation, no ID":  strings.Replace(good, `"id":"op1"`, `"id":""`, 1),
		"no deadline":          strings.Replace(good, `"deadline":"2026-01-02T04:04:05Z"`, `"deadline":null`, 1),
		"something behind it":  good + "{}",
		"counters of the text": `{"version":1,"acknowledged":{"rebootCounter":"4"}}`,
	}
	for name, annotation := range tests {
		t.Run(name, func(t *testing.T) {
			if annotation == good {
				t.Fatal("the case changes nothing")
			}
			if r, err := Restore(annotation, infrav1.RepaveHostStatus{}); err == nil {
				t.Errorf("was read as %+v", r)
			}
		})
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(Record{Seen: true, Operation: anOperation()}.Encode(), int64(3), int64(0))
	f.Add("", int64(1), int64(2))
	f.Add(`{"version":1}`, int64(0), int64(7))
	f.Fuzz(func(t *testing.T, annotation string, reboot, repave int64) {
		status := infrav1.RepaveHostStatus{Phase: infrav1.PhaseReady, Operations: infrav1.Counters{RebootCounter: reboot, RepaveCounter: repave}}
		r, err := Restore(annotation, status)
		if err != nil {
			return
		}
		if r.Acknowledged.RebootCounter < reboot || r.Acknowledged.RepaveCounter < repave {
			t.Fatalf("a counter of status was lost: %+v", r.Acknowledged)
		}
		if reboot < 0 || repave < 0 {
			return // the API refuses such a status
		}
		again, err := Restore(r.Encode(), status)
		if err != nil || again.Encode() != r.Encode() {
			t.Fatalf("the record does not come back: %v\n%s\n%s", err, r.Encode(), again.Encode())
		}
		Next(View{Now: time.Unix(1767323045, 0), Limits: DefaultLimits(), FreshID: "f", Record: r, Spec: Spec{HasBMC: true, Claim: "m"}})
	})
}

// TestAnOldRecordRepeatsNothing: a manifest that was saved at any time before, record included, is applied to a host that serves.
func TestAnOldRecordRepeatsNothing(t *testing.T) {
	w := newWorld(t.Fatalf)
	w.settle(time.Minute)
	saved := []string{w.annotation}
	note := func() {
		for range 200 {
			if w.look(atNoTime); saved[len(saved)-1] != w.annotation {
				saved = append(saved, w.annotation)
			}
			w.serve()
			w.pass(3 * time.Second)
		}
	}
	w.claim("m", imageA)
	note()
	w.spec.Counters = infrav1.Counters{RebootCounter: 1, RepaveCounter: 1}
	note()
	s := w.settle(time.Hour)
	if s.Reason != infrav1.ReasonServing || len(saved) < 10 {
		t.Fatalf("%s: %s; %d records", s.Reason, s.Message, len(saved))
	}
	installs, ons, cuts := len(w.installs), len(w.ons), len(w.cuts)
	for i, old := range saved {
		w.annotation = old
		s := w.settle(2 * time.Hour)
		if s.Reason != infrav1.ReasonServing || len(w.installs) != installs || len(w.ons) != ons || len(w.cuts) != cuts {
			t.Fatalf("record %d of %d, %s: %s: %s; installs %d of %d, on %d of %d, off %d of %d",
				i, len(saved), old, s.Reason, s.Message, len(w.installs), installs, len(w.ons), ons, len(w.cuts), cuts)
		}
	}
}
