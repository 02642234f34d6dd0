// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// queue knows the machines that want a host and the hosts that they are about to claim. It only saves work and lost races:
// everything in it may be forgotten, and what decides is the compare-and-swap.
type queue struct {
	mu      sync.Mutex
	waiting map[client.ObjectKey]bool
	// reserved is the machine that is about to claim a host, by host.
	reserved map[client.ObjectKey]client.ObjectKey
}

// wait notes that a machine wants a host. It is called before the hosts are read: a host that becomes free in between is then
// either seen or wakes the machine.
func (q *queue) wait(machine client.ObjectKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = map[client.ObjectKey]bool{}
	}
	q.waiting[machine] = true
}

// drop notes that a machine wants no host any more, and forgets its reservation.
func (q *queue) drop(machine client.ObjectKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, machine)
	for host, by := range q.reserved {
		if by == machine {
			delete(q.reserved, host)
		}
	}
}

// waiters are the machines of a namespace that want a host.
func (q *queue) waiters(namespace string) []client.ObjectKey {
	q.mu.Lock()
	defer q.mu.Unlock()
	var keys []client.ObjectKey
	for key := range q.waiting {
		if key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}

// choose lets a machine choose while nobody else does. taken says whether another machine is about to claim a host; the host
// that pick gives, if any, is reserved from then on.
func (q *queue) choose(machine client.ObjectKey, pick func(taken func(host string) bool) (host string)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	host := pick(func(host string) bool {
		by, ok := q.reserved[client.ObjectKey{Namespace: machine.Namespace, Name: host}]
		return ok && by != machine
	})
	if host == "" {
		return
	}
	if q.reserved == nil {
		q.reserved = map[client.ObjectKey]client.ObjectKey{}
	}
	q.reserved[client.ObjectKey{Namespace: machine.Namespace, Name: host}] = machine
}
