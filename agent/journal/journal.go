// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/repave-io/cluster-api-provider-repave/agent/goal"
)

// Where the journal lives on a host, and where one goes that cannot be understood.
const (
	Path       = "var/lib/repave/journal.json"
	BrokenPath = "var/lib/repave/journal.json.broken"
)

// Version of the file.
const Version = "repave.io/journal/v1alpha1"

// Files is the part of a host that the journal needs. WriteFile replaces a file as one act that outlives a power cut.
type Files interface {
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, content []byte, mode fs.FileMode) error
}

// Journal is the memory on its file. It may be used by several goroutines.
type Journal struct {
	files Files

	mu     sync.Mutex
	memory goal.Memory
}

// Open reads the journal of a host. Without one the memory is that of a fresh host. The first result is nil only with an error;
// lost says that a journal was there and was kept aside because it could not be understood.
func Open(files Files) (j *Journal, lost bool, err error) {
	j = &Journal{files: files}
	raw, err := files.ReadFile(Path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading journal: %w", err)
	}
	if j.memory, err = Decode(raw); err == nil {
		return j, false, nil
	}
	// The new file is written over the broken one, not after moving it away: a crash in between must not leave a host without
	// a journal, which would pass for a fresh one.
	if err := files.WriteFile(BrokenPath, raw, 0o600); err != nil {
		return nil, true, fmt.Errorf("keeping broken journal aside: %w", err)
	}
	j.memory = goal.Memory{Lost: true}
	if err := j.save(j.memory); err != nil {
		return nil, true, err
	}
	return j, true, nil
}

// Memory as it was saved last.
func (j *Journal) Memory() goal.Memory {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.memory
}

// Update changes the memory and saves it before it returns; where it cannot be saved it stays as it was. An update that
// changes nothing writes nothing.
func (j *Journal) Update(change func(goal.Memory) goal.Memory) (goal.Memory, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	next := change(j.memory)
	if err := j.save(next); err != nil {
		return j.memory, err
	}
	j.memory = next
	return next, nil
}

func (j *Journal) save(memory goal.Memory) error {
	raw, err := Encode(memory)
	if err != nil {
		return err
	}
	if err := j.files.WriteFile(Path, raw, 0o600); err != nil {
		return fmt.Errorf("writing journal: %w", err)
	}
	return nil
}

// envelope is the file: the checksum tells a torn or edited memory from a whole one.
type envelope struct {
	Version string          `json:"version"`
	SHA256  string          `json:"sha256"`
	Memory  json.RawMessage `json:"memory"`
}

// Encode gives the file of a memory.
func Encode(memory goal.Memory) ([]byte, error) {
	inner, err := json.Marshal(memory)
	if err != nil {
		return nil, fmt.Errorf("encoding journal: %w", err)
	}
	raw, err := json.Marshal(envelope{Version: Version, SHA256: checksum(inner), Memory: inner})
	if err != nil {
		return nil, fmt.Errorf("encoding journal: %w", err)
	}
	return append(raw, '\n'), nil
}

// Decode reads a file back. Whatever is not a whole journal of this version is an error.
func Decode(raw []byte) (goal.Memory, error) {
	var file envelope
	if err := strict(raw, &file); err != nil {
		return goal.Memory{}, fmt.Errorf("decoding journal: %w", err)
	}
	if file.Version != Version {
		return goal.Memory{}, fmt.Errorf("decoding journal: unknown version %q", file.Version)
	}
	if checksum(file.Memory) != file.SHA256 {
		return goal.Memory{}, errors.New("decoding journal: the checksum does not match")
	}
	var memory goal.Memory
	if err := strict(file.Memory, &memory); err != nil {
		return goal.Memory{}, fmt.Errorf("decoding journal: %w", err)
	}
	return memory, nil
}

func strict(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("something follows the value")
	}
	return nil
}

func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
