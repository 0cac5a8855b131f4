package merged

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"glasswatch/sharedinformer"
)

// WaitForResourceVersion blocks until the store shows everything up to resourceVersion of every source that there is
// then. A source that was added and has not listed is waited for.
//
//  1. Every source comes to the version.
//  2. The merge queues a bookmark, after all that the sources have said.
//  3. That bookmark comes to the store.
//
// Which versions are an error at once, and what the other errors are, is as in
// [sharedinformer.Informer.WaitForResourceVersion].
func (i *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if i.perKey || !isComparable(resourceVersion) {
		return i.Informer.WaitForResourceVersion(ctx, resourceVersion) // an error at once
	}
	w := i.merge.enter(resourceVersion)
	defer i.merge.leave(w)
	var cause error
	select {
	case cause = <-w.done:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-i.Done():
		cause = sharedinformer.ErrStopped
	}
	if cause == nil {
		return nil
	}
	if last := i.LastError(); last != nil {
		cause = fmt.Errorf("%w: last error: %w", cause, last)
	}
	return fmt.Errorf("informer %s has not reached resourceVersion %s: %w", i.Name(), resourceVersion, cause)
}

// waiter waits for every source to come to a version, and then for a mark to come to the store.
type waiter struct {
	version string
	mark    int
	done    chan error // capacity 1
}

func (m *merge[T]) enter(version string) *waiter {
	w := &waiter{version: version, done: make(chan error, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiters = append(m.waiters, w)
	m.tellVersionLocked()
	return w
}

func (m *merge[T]) leave(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiters = slices.DeleteFunc(m.waiters, func(other *waiter) bool { return other == w })
}

// tellVersionLocked lets the store's version follow the slowest source. If that has come to what somebody waits for,
// it queues a bookmark in any case.
func (m *merge[T]) tellVersionLocked() {
	lowest := m.lowestLocked()
	if !m.synced || !isComparable(lowest) {
		return
	}
	var reached []*waiter
	m.waiters = slices.DeleteFunc(m.waiters, func(w *waiter) bool {
		if order(w.version, lowest) > 0 {
			return false
		}
		reached = append(reached, w)
		return true
	})
	if order(lowest, m.told) > 0 {
		m.told = lowest
	} else if len(reached) == 0 {
		return
	}
	m.queued++
	_ = m.cfg.Queue.Bookmark(m.told)
	for _, w := range reached {
		w.mark = m.queued
		m.marks.await(w)
	}
}

// marks counts the lists and bookmarks that have come to the store. It has a lock of its own, which the consumer may
// take.
type marks struct {
	mu      sync.Mutex
	stored  int
	waiters []*waiter // in the order of their marks
}

// await has w told when its mark is in the store.
func (k *marks) await(w *waiter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiters = append(k.waiters, w)
	k.tellLocked()
}

// advance notes that the next mark is in the store.
func (k *marks) advance() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored++
	k.tellLocked()
}

func (k *marks) tellLocked() {
	for len(k.waiters) > 0 && k.waiters[0].mark <= k.stored {
		k.waiters[0].done <- nil
		k.waiters = k.waiters[1:]
	}
}
