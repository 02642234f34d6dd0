// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// launches carries processes to the one thread that starts them.
var launches = sync.OnceValue(func() chan<- launch {
	queue := make(chan launch)
	go func() {
		runtime.LockOSThread()
		for l := range queue {
			l.result <- l.cmd.Start()
		}
	}()
	return queue
})

type launch struct {
	cmd    *exec.Cmd
	result chan<- error
}

// start runs cmd so that the kernel kills it when this program ends in whatever way: exit, panic, ctrl-C or SIGKILL.
//
// Pdeathsig fires when the *thread* that forked ends, not the process (see golang.org/issue/27505), and the Go runtime
// ends threads as it likes, for one when a goroutine locked to its thread returns. So all processes are forked by one
// goroutine that is locked to its thread and never returns: that thread ends with the program and not before.
//
// Each process leads its own group. A ctrl-C in the terminal then reaches only this program, which can shut down in order,
// and the end of a process can take its children along.
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error, 1)
	launches() <- launch{cmd: cmd, result: result}
	return <-result
}
