// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a process may take to end by itself before it is killed.
	stopGrace = 15 * time.Second
	// probeInterval is the pause between two questions whether a process is ready.
	probeInterval = 50 * time.Millisecond
	// tailLines is how much of a log an error shows.
	tailLines = 15
)

// ErrExited marks a process that ended although somebody waited for it to become ready.
var ErrExited = errors.New("process ended")

// Process is one program the lab started. Its output goes to a log file.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; set before done closes
}

// run starts a program with its output in the log file, which is begun anew.
func run(name, path, log string, args, env []string) (*Process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("creating log of %s: %w", name, err)
	}
	defer func() { _ = out.Close() }() // the process has its own copy
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), env...)
	if err := start(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &Process{name: name, log: log, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// Name is what the process was started as.
func (p *Process) Name() string { return p.name }

// PID is the process id. After Done it may belong to another process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LogFile is the path of what the process writes.
func (p *Process) LogFile() string { return p.log }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended: nil for status 0, and nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Tail is the last lines of the log.
func (p *Process) Tail(lines int) string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("(log of %s cannot be read: %v)", p.name, err)
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Await asks probe until it says nil. It gives up when ctx ends (the last answer and the log's tail are in the error) and
// at once when the process ends (ErrExited).
func (p *Process) Await(ctx context.Context, probe func(context.Context) error) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		last := probe(ctx)
		select {
		case <-p.done: // before believing the answer: it may come from a stranger on the same port
			return p.problem(fmt.Errorf("%w: %w", ErrExited, exitReason(p.err)))
		default:
		}
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
		case <-tick.C:
		case <-ctx.Done():
			return p.problem(fmt.Errorf("%w; last answer: %w", context.Cause(ctx), last))
		}
	}
}

// problem adds to an error what the process wrote last.
func (p *Process) problem(err error) error {
	return fmt.Errorf("waiting for %s: %w\nlast lines of its log:\n%s", p.name, err, p.Tail(tailLines))
}

func exitReason(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Stop asks the process and its children to end (SIGTERM), waits, and kills after a grace of 15 s or when ctx ends. It is
// safe to call again and on a process that ended by itself; the error is nil unless killing was necessary.
func (p *Process) Stop(ctx context.Context) error {
	p.signal(syscall.SIGTERM)
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-grace.C:
	}
	p.Kill()
	return fmt.Errorf("stopping %s: killed, it did not end by itself", p.name)
}

// Kill ends the process and its children without a chance to tidy up, and waits until it is gone.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal reaches the whole group of a process that was not reaped yet; afterwards the number may be somebody else's.
func (p *Process) signal(sig syscall.Signal) {
	if !p.ended() {
		_ = syscall.Kill(-p.PID(), sig)
	}
}

// ended says whether the process is gone.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// RSS is the resident memory in bytes, as the kernel counts it now.
func (p *Process) RSS() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, fmt.Errorf("reading memory of %s: %w", p.name, err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("reading memory of %s: %w", p.name, err)
			}
			return kilobytes * 1024, nil
		}
	}
	return 0, fmt.Errorf("reading memory of %s: the kernel names none", p.name)
}
