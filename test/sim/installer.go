// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// installError is a failure with the reason that the plan's protocol knows.
type installError struct {
	reason string
	err    error
}

func (e *installError) Error() string { return e.err.Error() }
func (e *installError) Unwrap() error { return e.err }

// install does what the network-booted installer does: redeem the order, check that this is the machine and which is the
// disk, write, verify, leave the agent's configuration. A failure is reported and nothing boots from it.
func (b *Box) install(ctx context.Context, planURL string) error {
	plan, err := b.redeem(ctx, planURL)
	if err != nil {
		return fmt.Errorf("redeeming the order: %w", err)
	}
	err = b.carryOut(ctx, plan)
	if err == nil {
		b.note("Installed", plan.Order)
		return nil
	}
	if ctx.Err() != nil {
		return err // the power went: the order stays open, its deadline ends it
	}
	b.note("InstallFailed", plan.Order)
	failure := orderv1.Failure{Reason: "InstallFailed", Message: err.Error()}
	var known *installError
	if errors.As(err, &known) {
		failure.Reason = known.reason
	}
	return errors.Join(err, b.post(ctx, strings.TrimSuffix(planURL, orderv1.VerbPlan)+orderv1.VerbFailure, failure, nil))
}

func (b *Box) redeem(ctx context.Context, planURL string) (orderv1.Plan, error) {
	var plan orderv1.Plan
	if err := b.post(ctx, planURL, nil, &plan); err != nil {
		return plan, err
	}
	if plan.Version != orderv1.PlanVersion {
		return plan, fmt.Errorf("the plan has version %q", plan.Version)
	}
	return plan, nil
}

func (b *Box) carryOut(ctx context.Context, plan orderv1.Plan) error {
	if len(plan.Interfaces) > 0 && !slices.ContainsFunc(plan.Interfaces, func(mac string) bool { return slices.Contains(b.options.MACs, mac) }) {
		return &installError{"WrongHost", fmt.Errorf("this machine has none of the interfaces of host %s", plan.Host.Name)}
	}
	target, err := choose(b.disks(), plan.RootDevice)
	if err != nil {
		return &installError{"DiskNotFound", err}
	}
	// What was on the disk is gone from the first byte on: a half-written disk boots nothing.
	if err := os.RemoveAll(target.dir); err != nil {
		return fmt.Errorf("discarding the disk: %w", err)
	}
	if err := os.MkdirAll(target.root(), 0o700); err != nil {
		return fmt.Errorf("making the file system: %w", err)
	}
	version, err := b.writeDisk(ctx, plan.Disk, filepath.Join(target.dir, "disk.img"))
	if err != nil {
		return err
	}
	config, err := json.Marshal(plan.Agent)
	if err != nil {
		return fmt.Errorf("encoding the agent's configuration: %w", err)
	}
	path := filepath.Join(target.root(), orderv1.AgentConfigPath)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing the agent's configuration: %w", err)
	}
	if err := replaceFile(path, config, 0o600); err != nil {
		return err
	}
	// Without power nothing more is written: what was begun boots nothing.
	if err := ctx.Err(); err != nil {
		return err
	}
	return target.writeOS(osState{Booted: installedImage(plan, version)})
}

// installedImage is the image that the disk holds: the OS image where the netboot image names one, else the netboot image.
func installedImage(plan orderv1.Plan, version string) *Image {
	if _, digest, ok := strings.Cut(plan.OSImage, "@"); ok {
		return &Image{Ref: plan.OSImage, Digest: digest, Version: version}
	}
	return &Image{Digest: plan.Image, Version: version}
}

// diskHeader is the first line of a simulated disk image: JSON, padded by bytes that only the digest knows.
type diskHeader struct {
	Version string `json:"version"`
}

// writeDisk streams the disk image, checks its digest while writing, and gives the version that its first line states.
func (b *Box) writeDisk(ctx context.Context, d orderv1.Disk, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return "", errors.New("the URL of the disk image is not one")
	}
	response, err := b.options.HTTP.Do(request)
	if err != nil {
		return "", fmt.Errorf("fetching the disk image: %w", withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("fetching the disk image: the server answered %d", response.StatusCode)
	}
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("opening the disk: %w", err)
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	var body io.Reader = response.Body
	if b.currentFaults().CorruptDisk {
		body = io.MultiReader(strings.NewReader("!"), body)
	}
	out := io.MultiWriter(file, sum)
	n, err := io.CopyN(out, body, firstBytes)
	if err == nil {
		b.note("Writing", "")
		var rest int64
		rest, err = io.Copy(out, held(ctx, b.currentFaults().HoldInstall, body))
		n += rest
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("writing the disk: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != d.SHA256 || n != d.Size {
		return "", &installError{"DigestMismatch", fmt.Errorf("the disk image has %d bytes and another digest than the plan says", n)}
	}
	if err := file.Sync(); err != nil {
		return "", fmt.Errorf("writing the disk: %w", err)
	}
	return readVersion(path)
}

// firstBytes are what an installer writes before it may be held.
const firstBytes = 512

// held gives what is read from r when the hold ends; nil is no hold.
func held(ctx context.Context, hold <-chan struct{}, r io.Reader) io.Reader {
	if hold == nil {
		return r
	}
	select {
	case <-hold:
	case <-ctx.Done():
	}
	return r
}

func readVersion(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading back the disk: %w", err)
	}
	defer func() { _ = file.Close() }()
	var header diskHeader
	if err := json.NewDecoder(io.LimitReader(file, 4096)).Decode(&header); err != nil {
		return "", fmt.Errorf("reading back the disk: %w", err)
	}
	return header.Version, nil
}

// DiskImage makes a simulated disk image of a version with so many bytes of padding.
func DiskImage(version string, padding int) []byte {
	header, err := json.Marshal(diskHeader{Version: version})
	if err != nil {
		panic(err) // a struct of one string always encodes
	}
	var image bytes.Buffer
	image.Write(append(header, '\n'))
	seed := sha256.Sum256(header)
	for image.Len() < padding {
		seed = sha256.Sum256(seed[:])
		image.Write(seed[:])
	}
	return image.Bytes()
}

// post sends JSON and reads JSON. Paths of orders hold a one-time secret, so errors leave the URL out.
func (b *Box) post(ctx context.Context, url string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return fmt.Errorf("encoding: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &body)
	if err != nil {
		return errors.New("the URL is not one")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := b.options.HTTP.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the server answered %d", response.StatusCode)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(out)
}

// withoutURL takes the URL out of an error of net/http.
func withoutURL(err error) error {
	var named *neturl.Error
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}
