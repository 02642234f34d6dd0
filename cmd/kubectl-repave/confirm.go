// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// confirm has a person type the name of every host whose disk is about to be wiped, so that a command from the shell's history
// cannot wipe the wrong one.
func (p *plugin) confirm(names []string) error {
	if !p.interactive {
		return errors.New("a repave wipes disks and there is no terminal to ask on: pass --yes")
	}
	answers := bufio.NewScanner(p.In)
	for _, name := range names {
		fmt.Fprintf(p.ErrOut, "This wipes the disk of %s. Type the host's name to go on, or pass --yes: ", name)
		if !answers.Scan() || strings.TrimSpace(answers.Text()) != name {
			return fmt.Errorf("the name of host %s was not typed: nothing was asked for", name)
		}
	}
	return nil
}
