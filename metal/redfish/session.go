// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

const rootPath = "/redfish/v1/"

// session is how we are known to the BMC at present.
type session struct {
	token    string // X-Auth-Token; empty before login and with Basic authentication
	location string // what to DELETE at the end; empty when the BMC did not say
}

// request sends with authentication, logs in first when needed, and once again when the BMC has forgotten the session:
// a 401 says that nothing was done, so sending again is safe for every method.
func (c *Client) request(ctx context.Context, op, method, path string, body any) (reply, error) {
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return reply{}, &Error{Class: Permanent, Op: op, Message: "the request cannot be encoded"}
		}
	}
	if err := c.login(ctx); err != nil {
		return reply{}, err
	}
	send := func() (reply, error) {
		return c.wire.send(ctx, call{
			op: op, method: method, path: path, header: c.credentials(), body: encoded,
			once: method == http.MethodPost, // all of them are actions
		})
	}
	got, err := send()
	if err == nil && got.status == http.StatusUnauthorized && c.session.token != "" {
		lost := c.session
		c.session = session{}
		if err := c.login(ctx); err != nil {
			return reply{}, err
		}
		c.discard(ctx, lost)
		got, err = send()
	}
	return got, checked(op, got, err)
}

// checked turns an answer that is not a success into an Error.
func checked(op string, got reply, err error) error {
	if err == nil && got.status >= 300 {
		return statusError(op, got.status, parseMessageID(got.body))
	}
	return err
}

func (c *Client) credentials() http.Header {
	header := http.Header{}
	if c.session.token != "" {
		header.Set("X-Auth-Token", c.session.token)
		return header
	}
	pair := c.endpoint.Username + ":" + c.endpoint.Password
	header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	return header
}

// login reads the root, which needs no account, and opens a session where the root says; without such a link the BMC
// speaks Basic authentication only.
func (c *Client) login(ctx context.Context) error {
	if c.root == nil {
		const op = "reading the Redfish root"
		got, err := c.wire.send(ctx, call{op: op, method: http.MethodGet, path: rootPath})
		if err = checked(op, got, err); err != nil {
			return err
		}
		root, err := parseRoot(got.body)
		if err != nil {
			return err
		}
		c.root = &root
	}
	if c.session.token != "" || c.root.sessions == "" {
		return nil
	}
	const op = "logging in"
	account, err := json.Marshal(map[string]string{"UserName": c.endpoint.Username, "Password": c.endpoint.Password})
	if err != nil {
		return &Error{Class: Permanent, Op: op, Message: "the account cannot be encoded"}
	}
	// Not cancelled with the caller: a session whose answer nobody waits for is one the BMC keeps, and it has few.
	got, err := c.wire.send(context.WithoutCancel(ctx), call{op: op, method: http.MethodPost, path: c.root.sessions, body: account})
	if err = checked(op, got, err); sessionsTaken(err) {
		// Those of a manager that was killed time out only after half an hour on many BMCs; until one does, every request
		// carries the account, which every service must take too (DSP0266, "HTTP Basic authentication").
		return nil
	}
	if err != nil {
		return err
	}
	opened := session{token: got.header.Get("X-Auth-Token"), location: pathOf(got.header.Get("Location"))}
	if opened.location == "" {
		opened.location = parseSelf(got.body)
	}
	if opened.token == "" {
		return &Error{Class: Permanent, Op: op, Status: got.status, Message: "the BMC opened a session without a token"}
	}
	sessionsOpened.Inc()
	c.session = opened
	return nil
}

// sessionsTaken says whether the BMC opens no session because it has as many as it can keep.
func sessionsTaken(err error) bool {
	var known *Error
	return errors.As(err, &known) && strings.HasSuffix(known.MessageID, ".SessionLimitExceeded")
}

// discard gives back a session the BMC no longer took: some answer 401 for other reasons and keep it, and a BMC has few.
func (c *Client) discard(ctx context.Context, lost session) {
	if lost.location == "" || lost.location == c.session.location {
		return
	}
	_, _ = c.wire.send(ctx, call{op: "giving back the session", method: http.MethodDelete, path: lost.location, header: c.credentials()})
}

// Close gives the session back and drops the connection. The Client may be used again; it then logs in anew.
func (c *Client) Close(ctx context.Context) error {
	defer c.wire.client.CloseIdleConnections()
	old := c.session
	if old.token == "" || old.location == "" {
		c.session = session{}
		return nil
	}
	const op = "giving back the session"
	got, err := c.wire.send(ctx, call{op: op, method: http.MethodDelete, path: old.location, header: c.credentials()})
	c.session = session{}
	if err == nil && (got.status == http.StatusUnauthorized || got.status == http.StatusNotFound) {
		return nil // gone already
	}
	if err = checked(op, got, err); err != nil {
		return err
	}
	sessionsClosed.Inc()
	return nil
}
