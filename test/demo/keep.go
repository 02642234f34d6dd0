// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// inBackground is the argument of the process that outlives `make demo KEEP=1`.
const inBackground = "in-background"

// demoDir holds the state of a demo that is left running.
const demoDir = ".demo"

func pidFile() string { return filepath.Join(demoDir, "pid") }

// keep starts the story in a process of its own session, waits until that says how the story ended, and leaves it running.
func keep() error {
	if pid := runningPID(); pid != 0 {
		return fmt.Errorf("a demo runs already (process %d); end it with make demo-down", pid)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	verdict, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	cmd := exec.Command(self, inBackground)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the demo: %w", err)
	}
	if err := tell.Close(); err != nil {
		return fmt.Errorf("closing the pipe: %w", err)
	}
	// A ctrl-C while the story runs ends it in order.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range interrupts {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}()
	line, err := bufio.NewReader(verdict).ReadString('\n')
	if err != nil {
		return errors.New("the demo ended before its story did")
	}
	if line = strings.TrimSpace(line); line != "ok" {
		return errors.New(line)
	}
	return nil
}

// background runs the story, says how it ended, and stays until it is told to go.
func background() error {
	verdict := os.NewFile(3, "verdict")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := os.MkdirAll(demoDir, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", demoDir, err)
	}
	if err := os.WriteFile(pidFile(), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", pidFile(), err)
	}
	defer func() { _ = os.Remove(pidFile()) }()
	rig, err := tell(ctx)
	if rig != nil {
		defer rig.close()
	}
	if err != nil {
		_, _ = fmt.Fprintln(verdict, strings.ReplaceAll(err.Error(), "\n", "; "))
		return err
	}
	rig.howToPlayOn()
	if err := detachOutput(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(verdict, "ok"); err != nil {
		return fmt.Errorf("saying that the story ended: %w", err)
	}
	_ = verdict.Close()
	<-ctx.Done()
	return nil
}

// detachOutput lets go of the terminal, or of a pipe that somebody reads to its end.
func detachOutput() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("letting go of the terminal: %w", err)
	}
	for _, fd := range []int{1, 2} {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return fmt.Errorf("letting go of the terminal: %w", err)
		}
	}
	return null.Close()
}

// runningPID gives the process of a demo that was left running, 0 for none.
func runningPID() int {
	raw, err := os.ReadFile(pidFile())
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0
	}
	// The number may be somebody else's by now: after a reboot, or when the demo was killed.
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || filepath.Base(strings.TrimSuffix(program, " (deleted)")) != "demo" {
		return 0
	}
	return pid
}

// down ends a demo that was left running and waits until it is gone.
func down() error {
	pid := runningPID()
	if pid == 0 {
		fmt.Println("no demo is running")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("ending process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end", pid)
		case <-tick.C:
		}
	}
	fmt.Println("the demo is down")
	return nil
}
