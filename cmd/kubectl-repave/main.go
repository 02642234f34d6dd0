// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	p := newPlugin(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, terminal())
	status := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// console is what is known of the person's terminal.
type console struct {
	width       int  // columns of the output; 0: not a terminal
	interactive bool // input and output are a terminal: a question can be asked and answered
	now         func() time.Time
}

func terminal() console {
	c := console{now: time.Now}
	out := int(os.Stdout.Fd())
	if width, _, err := term.GetSize(out); err == nil && term.IsTerminal(out) {
		c.width = width
		c.interactive = term.IsTerminal(int(os.Stdin.Fd()))
	}
	return c
}
