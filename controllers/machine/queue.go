// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// queue knows the machines that want a host and the hosts that they are about to claim. It only saves work and lost races:
// everything in it may be forgotten, and what decides is the compare-and-swap.
type queue struct {
	mu sync.Mutex
	// waiting are the machines that want a host, with the time at which their message was changed last.
	waiting  map[client.ObjectKey]time.Time
	reserved map[client.ObjectKey]reservation
}

// reservation is the machine that is about to claim a host. It ends by itself: a machine that was paused in between must not
// keep a host from others.
type reservation struct {
	machine client.ObjectKey
	until   time.Time
}

// reservedFor is ample for the two writes of a claim.
const reservedFor = 10 * time.Second

// wait notes that a machine wants a host. It is called before the hosts are read: a host that becomes free in between is then
// either seen or wakes the machine.
func (q *queue) wait(machine client.ObjectKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = map[client.ObjectKey]time.Time{}
	}
	if _, known := q.waiting[machine]; !known {
		q.waiting[machine] = time.Time{}
	}
}

// toldFor is how long the message of a waiting machine stands. It counts hosts, so every change of any host would otherwise
// be a write for every machine that waits.
const toldFor = 10 * time.Second

// tell says for how long a waiting machine must keep its message; 0 lets it change the message now.
func (q *queue) tell(machine client.ObjectKey, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if left := q.waiting[machine].Add(toldFor).Sub(now); left > 0 {
		return left
	}
	if _, known := q.waiting[machine]; known {
		q.waiting[machine] = now
	}
	return 0
}

// drop notes that a machine wants no host any more, and forgets its reservation.
func (q *queue) drop(machine client.ObjectKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, machine)
	for host, by := range q.reserved {
		if by.machine == machine {
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
func (q *queue) choose(machine client.ObjectKey, now time.Time, pick func(taken func(host string) bool) (host string)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	host := pick(func(host string) bool {
		by, ok := q.reserved[client.ObjectKey{Namespace: machine.Namespace, Name: host}]
		return ok && by.machine != machine && now.Before(by.until)
	})
	if host == "" {
		return
	}
	if q.reserved == nil {
		q.reserved = map[client.ObjectKey]reservation{}
	}
	q.reserved[client.ObjectKey{Namespace: machine.Namespace, Name: host}] = reservation{machine, now.Add(reservedFor)}
}
