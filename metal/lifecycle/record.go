// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// recordVersion is that of the encoding. A record of another version is refused: guessing might wipe a disk.
const recordVersion = 1

// Record is what must survive the loss of status, a move and every crash. It lives in the annotation repave.io/record and
// is mirrored in status.
type Record struct {
	// Seen: the host was looked at before. On the first look its counters and claim are taken as they stand, so that an
	// object that came without a record (a restore, a copy) reboots and installs nothing.
	Seen         bool
	Acknowledged infrav1.Counters
	Operation    *infrav1.Operation
	// Free: the operation was opened while no machine had claimed the host, so it proves no claim's install.
	Free        bool
	Fingerprint string // pinned certificate of the BMC
	Installed   string // provider ID of the claim whose install was proven
	Release     *Release
	Ended       *infrav1.OperationRecord // the last operation that ended, for status.history
}

// Release is the end of a claim.
type Release struct {
	At    metav1.Time `json:"at"`
	Tries int32       `json:"tries,omitempty"`
	// Done: the host was seen off since, has no power control, or a person let it go.
	Done bool `json:"done,omitempty"`
}

type recordJSON struct {
	Version      int                      `json:"version"`
	Acknowledged infrav1.Counters         `json:"acknowledged,omitzero"`
	Operation    *infrav1.Operation       `json:"operation,omitempty"`
	Free         bool                     `json:"free,omitempty"`
	Fingerprint  string                   `json:"bmcFingerprint,omitempty"`
	Installed    string                   `json:"installed,omitempty"`
	Release      *Release                 `json:"release,omitempty"`
	Ended        *infrav1.OperationRecord `json:"ended,omitempty"`
}

// Encode gives the annotation: the same bytes for the same record.
func (r Record) Encode() string {
	encoded, err := json.Marshal(recordJSON{recordVersion, r.Acknowledged, r.Operation, r.Free, r.Fingerprint, r.Installed, r.Release, r.Ended})
	if err != nil {
		// Plain strings, numbers and times of this century always encode; a year beyond 9999 is a clock gone mad, and going
		// on with half a record could repeat an install.
		panic(fmt.Sprintf("encoding the record: %v", err))
	}
	return string(encoded)
}

// Restore gives the record of a host from its annotation ("" where there is none) and its status. The annotation is written
// first, so it wins, unless status knows what can only have come after it; the acknowledged counters are the higher of the two.
// An annotation that cannot be read is an error, and nothing must be done to the host until a person has looked: taking it for
// empty could repeat an install.
func Restore(annotation string, status infrav1.RepaveHostStatus) (Record, error) {
	mirror := fromStatus(status)
	if annotation == "" {
		return mirror, nil
	}
	read, err := decode(annotation)
	if err != nil {
		return Record{}, fmt.Errorf("reading annotation %s: %w", infrav1.AnnotationRecord, err)
	}
	if rewound(read, status) {
		read = mirror
	}
	read.Acknowledged.RebootCounter = max(read.Acknowledged.RebootCounter, mirror.Acknowledged.RebootCounter)
	read.Acknowledged.RepaveCounter = max(read.Acknowledged.RepaveCounter, mirror.Acknowledged.RepaveCounter)
	return read, nil
}

// rewound says whether a record is older than status, which is written after it: somebody applied a manifest of the host that
// was saved before. Going by it would carry on what has ended, and install what is installed.
func rewound(read Record, status infrav1.RepaveHostStatus) bool {
	if len(status.History) == 0 {
		return false
	}
	for _, line := range status.History {
		if read.Operation != nil && read.Operation.ID == line.ID && line.Outcome != infrav1.OutcomeFailed {
			return true // what was given up stays open; all else has ended
		}
	}
	last := status.History[0]
	return read.Ended == nil || read.Ended.ID != last.ID && read.Ended.StartedAt.Before(&last.StartedAt)
}

func decode(annotation string) (Record, error) {
	var in recordJSON
	decoder := json.NewDecoder(bytes.NewReader([]byte(annotation)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return Record{}, errors.New("it is not the JSON of a record")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Record{}, errors.New("something follows the record")
	}
	if in.Version != recordVersion {
		return Record{}, fmt.Errorf("it has version %d, this manager reads %d", in.Version, recordVersion)
	}
	if in.Acknowledged.RebootCounter < 0 || in.Acknowledged.RepaveCounter < 0 {
		return Record{}, errors.New("a counter is negative")
	}
	if err := check(in.Operation); err != nil {
		return Record{}, err
	}
	return Record{true, in.Acknowledged, in.Operation, in.Free, in.Fingerprint, in.Installed, in.Release, in.Ended}, nil
}

// check refuses an operation that Next could not carry on.
func check(op *infrav1.Operation) error {
	if op == nil {
		return nil
	}
	wellKnown := op.Kind == infrav1.OperationReboot && op.Method == infrav1.MethodPower ||
		op.Kind == infrav1.OperationRepave && op.Method == infrav1.MethodNetboot
	switch {
	case op.ID == "" || len(op.ID) > 63 || op.Attempt < 1 || op.Tries < 0 || op.Counter < 0:
		return errors.New("its operation lacks an ID, or a count is out of range")
	case !wellKnown:
		return errors.New("its operation is of a kind or method that is not known")
	case !known(op.Step):
		return errors.New("its operation is at a step that is not known")
	case !sane(op.StartedAt) || !sane(op.StepAt) || !sane(op.Deadline):
		return errors.New("its operation has no proper times")
	}
	return nil
}

func sane(t metav1.Time) bool { return !t.IsZero() && t.UTC().Year() > 1970 && t.UTC().Year() < 9000 }

// fromStatus is the record as status mirrors it.
func fromStatus(status infrav1.RepaveHostStatus) Record {
	r := Record{Acknowledged: status.Operations, Operation: status.Operation.DeepCopy(), Installed: status.Installed}
	// The parts of agent and netboot server do not show that the host controller ever looked.
	r.Seen = status.Phase != "" || status.ObservedGeneration > 0 || r.Operation != nil || r.Installed != "" || r.Acknowledged != infrav1.Counters{}
	if status.BMC != nil {
		r.Fingerprint = status.BMC.CertificateFingerprint
	}
	if len(status.History) > 0 {
		r.Ended = status.History[0].DeepCopy()
	}
	return r
}
