// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/stmcginnis/gofish"
)

var (
	addressLine = regexp.MustCompile(`^(server-\d\d) +(https://\S+) +[0-9a-f]{64}$`)
	adminLine   = regexp.MustCompile(`^faults: (http://\S+)/servers$`)
)

func TestFleet(t *testing.T) {
	g := NewWithT(t)
	passwordFile := filepath.Join(t.TempDir(), "password")
	g.Expect(os.WriteFile(passwordFile, []byte("hunter2\n"), 0o600)).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	command := newCommand()
	command.SetArgs([]string{"--servers", "3", "--base-port", "0", "--admin", "127.0.0.1:0", "--password-file", passwordFile})
	command.SetOut(in)
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()

	addresses, admin := map[string]string{}, ""
	for lines := bufio.NewScanner(out); admin == "" && lines.Scan(); {
		if found := addressLine.FindStringSubmatch(lines.Text()); found != nil {
			addresses[found[1]] = found[2]
		}
		if found := adminLine.FindStringSubmatch(lines.Text()); found != nil {
			admin = found[1]
		}
	}
	g.Expect(addresses).To(HaveLen(3))

	config := gofish.ClientConfig{Endpoint: addresses["server-02"], Username: "admin", Password: "hunter2", Insecure: true}
	client, err := gofish.ConnectContext(t.Context(), config)
	g.Expect(err).NotTo(HaveOccurred())
	systems, err := client.Service.Systems()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(systems[0].SerialNumber).To(Equal("VIRTUAL0002"))
	client.Logout()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, admin+"/servers/server-02/faults/refuse", nil)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(answer.StatusCode).To(Equal(http.StatusNoContent))
	_, err = gofish.ConnectContext(t.Context(), config)
	g.Expect(err).To(MatchError(ContainSubstring("503")))

	cancel()
	g.Expect(<-ended).To(Succeed())
}

func TestFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"--servers", "0"},
		{"--servers", "10", "--base-port", "65530"},
		{"--base-port", "-1"},
		{"--password-file", "/does/not/exist"},
		{"--listen", "not an address", "--base-port", "0"},
		{"surplus"},
	} {
		command := newCommand()
		command.SetArgs(args)
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		if err := command.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
