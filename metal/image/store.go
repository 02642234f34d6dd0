// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const (
	imagesDir = "images"
	workDir   = "work"
	lockName  = "lock"
	dirMode   = 0o700
)

// Store keeps images in one directory, which other processes may use at the same time. All methods may be called
// concurrently.
type Store struct {
	dir  string
	opts Options
	lock *os.File

	ctx   context.Context
	close context.CancelCauseFunc
	pulls chan struct{}
	wg    sync.WaitGroup

	mu       sync.Mutex
	flights  map[string]*flight
	failures map[string]failed
}

var errClosed = &Error{Kind: Storage, Detail: "the image store is closed"}

// NewStore opens the store in dir, making it when it is not there. What pulls of a crashed process left is removed
// when no other process uses dir. The caller closes the store.
func NewStore(dir string, opts Options) (*Store, error) {
	for _, sub := range []string{imagesDir, workDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), dirMode); err != nil {
			return nil, fmt.Errorf("creating the image store: %w", err)
		}
	}
	lock, err := share(dir)
	if err != nil {
		return nil, fmt.Errorf("locking the image store: %w", err)
	}
	opts = opts.withDefaults()
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Store{
		dir:      dir,
		opts:     opts,
		lock:     lock,
		ctx:      ctx,
		close:    cancel,
		pulls:    make(chan struct{}, opts.Pulls),
		flights:  map[string]*flight{},
		failures: map[string]failed{},
	}, nil
}

// share takes the store's lock together with all other users, and sweeps when there are none: only then is nothing
// in work somebody's.
func share(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = sweep(filepath.Join(dir, workDir))
	} else if errors.Is(err, syscall.EWOULDBLOCK) {
		err = nil
	}
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func sweep(work string) error {
	left, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	for _, entry := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(work, entry.Name())))
	}
	return err
}

// Close ends all pulls and waits for them. Images already given out stay readable.
func (s *Store) Close() error {
	s.mu.Lock()
	s.close(errClosed)
	s.mu.Unlock()
	s.wg.Wait()
	return s.lock.Close()
}

// Lookup finds an image that is here, whole. It does not touch the network and does not read the files, only their
// sizes.
func (s *Store) Lookup(digest string) (Image, bool) {
	dir, ok := s.imageDir(digest)
	if !ok {
		return Image{}, false
	}
	return readImage(dir, digest)
}

// Ensure returns the image of a pinned reference, pulling it when it is not here. Calls for one digest at the same
// time share one pull, which ends early only when all of them have given up. Nil credentials mean none.
// Errors are *Error, but for those of ctx.
func (s *Store) Ensure(ctx context.Context, ref string, creds *Credentials) (Image, error) {
	wanted, err := newRequest(ref, creds)
	if err != nil {
		return Image{}, err
	}
	for {
		if image, ok := s.Lookup(wanted.ref.Digest); ok {
			return image, nil
		}
		f, err := s.join(wanted)
		if err != nil {
			return Image{}, err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			s.leave(f)
			return Image{}, fmt.Errorf("pulling image %s: %w", ref, context.Cause(ctx))
		}
		// Somebody else's failure, from another registry or with other credentials, need not be ours.
		if f.err == nil || f.request == wanted {
			return f.image, f.err
		}
	}
}

// imageDir is where the image of a digest is or would be.
func (s *Store) imageDir(digest string) (string, bool) {
	hex, ok := hexOf(digest)
	return filepath.Join(s.dir, imagesDir, hex), ok
}
