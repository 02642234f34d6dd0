// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package redfish

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strconv"
)

// Client is one server behind one BMC. It is synchronous and for one goroutine; only Fingerprint may be called from
// another. Every request has the deadline Options.CallTimeout besides that of the context.
type Client struct {
	endpoint Endpoint
	wire     *wire
	root     *serviceRoot // nil before the first contact
	session  session
	system   string // path; empty until it was found
	target   string // of the reset action, as last read
	resets   []string
}

// NewClient checks the endpoint and calls nobody yet. Its error is a Permanent *Error.
func NewClient(endpoint Endpoint, options Options) (*Client, error) {
	options = options.complete()
	wire, err := newWire(endpoint, options.CallTimeout)
	if err != nil {
		return nil, err
	}
	return &Client{endpoint: endpoint, wire: wire}, nil
}

// Fingerprint is the SHA-256 of the leaf certificate in hex that the last connection showed, also when it was refused;
// "" before the first one and without TLS.
func (c *Client) Fingerprint() string { return c.wire.fingerprint() }

// Identify finds the server and says what it is.
func (c *Client) Identify(ctx context.Context) (Identity, error) {
	identity, _, err := c.inspect(ctx)
	return identity, err
}

// Read says what power and boot source are now.
func (c *Client) Read(ctx context.Context) (State, error) {
	read, err := c.readSystem(ctx)
	return read.state, err
}

// inspect is Identify and Read for the price of one.
func (c *Client) inspect(ctx context.Context) (Identity, State, error) {
	c.system, c.root = "", nil // a BMC that was away may have come back with another firmware, which names things anew
	read, err := c.readSystem(ctx)
	if err != nil {
		return Identity{}, State{}, err
	}
	if len(read.identity.ResetTypes) == 0 && read.resetInfo != "" {
		got, err := c.request(ctx, "reading the reset types", http.MethodGet, read.resetInfo, nil)
		if err != nil && got.status == 0 {
			return Identity{}, State{}, err
		}
		read.identity.ResetTypes = parseResetTypes(got.body)
	}
	c.resets = read.identity.ResetTypes
	if read.manager != "" {
		// Only the firmware version is wanted from it: a BMC that does not show it is still of use.
		got, err := c.request(ctx, "reading the manager", http.MethodGet, read.manager, nil)
		if err != nil && got.status == 0 {
			return Identity{}, State{}, err
		}
		read.identity.FirmwareVersion = parseFirmwareVersion(got.body)
	}
	return read.identity, read.state, nil
}

func (c *Client) readSystem(ctx context.Context) (system, error) {
	if c.system == "" {
		found, err := c.findSystem(ctx)
		if err != nil {
			return system{}, err
		}
		c.system = found
	}
	got, err := c.request(ctx, "reading the system", http.MethodGet, c.system, nil)
	if err != nil {
		if got.status == http.StatusNotFound {
			c.system = ""
		}
		return system{}, err
	}
	read, err := parseSystem(c.system, got.body)
	if err == nil {
		c.target = read.resetTarget
	}
	return read, err
}

// findSystem chooses the System named by the endpoint, or the only one.
func (c *Client) findSystem(ctx context.Context) (string, error) {
	const op = "finding the system"
	if err := c.login(ctx); err != nil {
		return "", err
	}
	got, err := c.request(ctx, op, http.MethodGet, c.root.systems, nil)
	if err != nil {
		return "", err
	}
	members, err := parseMembers(op, got.body)
	if err != nil {
		return "", err
	}
	if c.endpoint.SystemID != "" {
		for _, member := range members {
			if path.Base(member) == c.endpoint.SystemID {
				return member, nil
			}
		}
		return "", &Error{Class: Permanent, Op: op, Message: "the BMC serves no system " + strconv.Quote(c.endpoint.SystemID)}
	}
	if len(members) != 1 {
		return "", &Error{Class: Permanent, Op: op, Message: "the BMC serves " + strconv.Itoa(len(members)) + " systems; name one by systemID"}
	}
	return members[0], nil
}

// Reset asks for a reset, sent at most once. That it returns nil says the BMC took it, not that anything happened: read
// the power state. Conflict often means that the server is in the wanted state already.
func (c *Client) Reset(ctx context.Context, resetType ResetType) error {
	op := "resetting with " + string(resetType)
	if len(c.resets) > 0 && !slices.Contains(c.resets, string(resetType)) {
		return &Error{Class: Unsupported, Op: op, Message: "the BMC does not offer this reset type"}
	}
	if c.target == "" {
		if _, err := c.readSystem(ctx); err != nil {
			return err
		}
	}
	if c.target == "" {
		return &Error{Class: Unsupported, Op: op, Message: "the BMC offers no reset of this system"}
	}
	_, err := c.request(ctx, op, http.MethodPost, c.target, map[string]any{"ResetType": resetType})
	return err
}
