// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// shared is the control plane with Cluster API that the stories of this package use.
var shared = NewShared(Options{Log: os.Stderr}, (*ControlPlane).StartClusterAPI)

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		beParent()
	}
	os.Exit(shared.Main(m))
}

func TestMissingBinariesNameTheRemedy(t *testing.T) {
	g := NewWithT(t)
	_, err := StartControlPlane(t.Context(), Options{BinDir: t.TempDir(), Dir: t.TempDir()})
	g.Expect(err).To(MatchError(ContainSubstring("run make controlplane")))
}

func TestServerThatEndsAtOnceShowsItsLog(t *testing.T) {
	tests := []struct {
		name, script, want string
	}{
		{"with an error", "echo 'no disk of that name' >&2; exit 3", "exit status 3"},
		{"with success", "echo 'no disk of that name'", "exit status 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("TMPDIR", t.TempDir())
			bin := t.TempDir()
			g.Expect(os.WriteFile(filepath.Join(bin, "etcd"), []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700)).To(Succeed())

			_, err := StartControlPlane(t.Context(), Options{BinDir: bin})
			g.Expect(err).To(MatchError(ErrExited))
			g.Expect(err).To(MatchError(SatisfyAll(ContainSubstring("no disk of that name"), ContainSubstring(tt.want))))
			g.Expect(filepath.Glob(filepath.Join(os.TempDir(), directoryPrefix+"*"))).To(BeEmpty(), "the directory is removed")
		})
	}
}

func TestInterruptedStartLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	progress := writer(func(line string) {
		if strings.Contains(line, "etcd answers") {
			interrupt()
		}
	})
	_, err := StartControlPlane(ctx, Options{Log: progress})
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(err).To(MatchError(ContainSubstring("kube-apiserver")))
	g.Expect(processesNaming(g, os.TempDir())).To(BeEmpty())
	g.Expect(filepath.Glob(filepath.Join(os.TempDir(), directoryPrefix+"*"))).To(BeEmpty())
}

// writer is called with everything written.
type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// processesNaming are the command lines that hold a text.
func processesNaming(g *WithT, text string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	g.Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) { // some end meanwhile
			found = append(found, string(line))
		}
	}
	return found
}

func TestDirectoryServesOneLabAtATime(t *testing.T) {
	g := NewWithT(t)
	place := t.TempDir()
	first, err := openDirectory(place)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = openDirectory(place)
	g.Expect(err).To(MatchError(ContainSubstring("locking")))
	g.Expect(first.close()).To(Succeed())
	g.Expect(place).To(BeADirectory(), "only a temporary directory is removed")
	second, err := openDirectory(place)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.close()).To(Succeed())
}

func TestAwaitGivesUpWithTheLastAnswer(t *testing.T) {
	g := NewWithT(t)
	p, err := run("sleeper", "/bin/sh", filepath.Join(t.TempDir(), "log"), []string{"-c", "echo dreaming; exec sleep 600"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	defer p.Kill()

	ctx, cancel := context.WithTimeout(t.Context(), 4*probeInterval)
	defer cancel()
	err = p.Await(ctx, func(context.Context) error { return fmt.Errorf("still asleep") })
	g.Expect(err).To(MatchError(context.DeadlineExceeded))
	g.Expect(err).To(MatchError(SatisfyAll(ContainSubstring("still asleep"), ContainSubstring("dreaming"))))
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	g := NewWithT(t)
	log := filepath.Join(t.TempDir(), "log")
	p, err := run("stubborn", "/bin/sh", log, []string{"-c", "trap '' TERM; echo trapped; while :; do sleep 600; done"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() string { return p.Tail(1) }, "10s").Should(Equal("trapped"))

	ctx, cancel := context.WithTimeout(t.Context(), 4*probeInterval)
	defer cancel()
	g.Expect(p.Stop(ctx)).To(MatchError(ContainSubstring("killed")))
	g.Expect(lives(p.PID())).To(BeFalse())
	g.Expect(p.Stop(t.Context())).To(Succeed(), "a second stop has nothing to do")
}

func TestServerTakesAnotherPortWhenItsOwnWasTaken(t *testing.T) {
	g := NewWithT(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer taken.Close()
	stranger := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})} // answers 200 to everything
	go func() { _ = stranger.Serve(taken) }()
	_, occupied, err := net.SplitHostPort(taken.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())

	c, err := newStore()
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(c.Stop()).To(Succeed()) }()
	used := []string{}
	port, err := c.startServer(t.Context(), serverSpec{
		name: "etcd",
		args: func(port string) []string {
			if len(used) == 0 {
				port = occupied
			}
			used = append(used, port)
			return []string{
				"--data-dir=" + c.dir.join("etcd"), "--listen-peer-urls=http://127.0.0.1:0",
				"--listen-client-urls=http://127.0.0.1:" + port, "--advertise-client-urls=http://127.0.0.1:" + port,
			}
		},
		probe: func(port string) func(context.Context) error { return Answers("http://127.0.0.1:" + port + "/health") },
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(used).To(Equal([]string{occupied, port}))
}

// newStore is a lab without any server yet.
func newStore() (*ControlPlane, error) {
	options, err := Options{}.complete()
	if err != nil {
		return nil, err
	}
	dir, err := openDirectory("")
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{options: options, dir: dir}
	c.credentials, err = newCredentials(dir)
	return c, err
}

// lives says whether a process exists and is more than a zombie nobody reaped: an orphan's new parent may be slow.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}
