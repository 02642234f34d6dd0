// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestNothingOutlivesTheParent(t *testing.T) {
	tests := []struct {
		name string
		end  func(parent *exec.Cmd, stdin io.Writer) error
	}{
		{"killed", func(parent *exec.Cmd, _ io.Writer) error { return parent.Process.Kill() }},
		{"interrupted", func(parent *exec.Cmd, _ io.Writer) error { return parent.Process.Signal(os.Interrupt) }},
		{"panicking", func(_ *exec.Cmd, stdin io.Writer) error { _, err := io.WriteString(stdin, "now\n"); return err }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			parent := exec.CommandContext(t.Context(), os.Args[0])
			parent.Env = append(os.Environ(), parentVariable+"=1", "TMPDIR="+t.TempDir())
			stdin, err := parent.StdinPipe()
			g.Expect(err).NotTo(HaveOccurred())
			stdout, err := parent.StdoutPipe()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parent.Start()).To(Succeed())
			var etcd int
			var dir string
			_, err = fmt.Fscanln(bufio.NewReader(stdout), &etcd, &dir)
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(func() { // only when the test fails is there anything to kill
				if lives(etcd) {
					_ = syscall.Kill(etcd, syscall.SIGKILL)
				}
			})
			g.Expect(lives(etcd)).To(BeTrue())
			before := time.Now().Add(time.Minute)
			sweep(filepath.Dir(dir), before)
			g.Expect(dir).To(BeADirectory(), "a living lab keeps its directory")

			g.Expect(tt.end(parent, stdin)).To(Succeed())
			g.Expect(parent.Wait()).NotTo(Succeed())
			g.Eventually(func() bool { return lives(etcd) }, "10s", "20ms").Should(BeFalse())
			sweep(filepath.Dir(dir), before)
			g.Expect(dir).NotTo(BeADirectory(), "the next lab clears away what is left")
		})
	}
}

func TestProcessOutlivesTheThreadThatAskedForIt(t *testing.T) {
	g := NewWithT(t)
	c, err := newStore()
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(c.Stop()).To(Succeed()) }()

	started, thread := make(chan error, 1), make(chan int, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		thread <- syscall.Gettid()
		_, err := c.startEtcd(t.Context())
		started <- err
	}()
	g.Expect(<-started).To(Succeed())
	task := fmt.Sprintf("/proc/self/task/%d", <-thread)
	g.Eventually(task, "10s", "20ms").ShouldNot(BeADirectory())
	g.Consistently(c.servers[0].Done(), "300ms").ShouldNot(BeClosed())
}

// parentVariable makes the test binary a parent that starts etcd and then waits for its end.
const parentVariable = "REPAVE_LAB_TEST_PARENT"

// beParent never returns. It prints the pid of its etcd and panics when a line comes in.
func beParent() {
	c, err := newStore()
	if err == nil {
		_, err = c.startEtcd(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.servers[0].PID(), c.dir.path)
	_, _ = fmt.Scanln()
	panic("the parent panics")
}
