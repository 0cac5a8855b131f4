package merged

import (
	"context"
	"fmt"
	"sync"

	"glasswatch/internal/rv"
	"glasswatch/sharedinformer"
)

// WaitForResourceVersion blocks until the store shows everything up to resourceVersion of every source that there is
// then. A source that was added and has not listed is waited for. Without sources there is nothing to wait for. Once ctx
// has ended or the informer has stopped, the store decides: nil if its version has come to resourceVersion, and every
// source has come to that.
//
//  1. Every source comes to the version, and nothing that a list has lost is in its grace.
//  2. The merge queues a bookmark, after all that the sources have said.
//  3. That bookmark comes to the store.
//
// Which versions are an error at once, and what the other errors are, is as in
// [sharedinformer.Informer.WaitForResourceVersion].
func (i *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if i.perKey || !rv.IsComparable(resourceVersion) {
		return i.Informer.WaitForResourceVersion(ctx, resourceVersion) // an error at once
	}
	w := &waiter{version: resourceVersion, done: make(chan struct{})}
	i.merge.enter(w)
	defer i.merge.leave(w)
	var cause error
	select {
	case <-w.done:
		if w.unclear {
			return i.Informer.WaitForResourceVersion(ctx, resourceVersion) // mostly an error at once
		}
		return nil
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-i.merge.ended:
		cause = sharedinformer.ErrStopped
	}
	err := i.Informer.WaitForResourceVersion(ctx, resourceVersion) // the last look, or the last batch
	if err != nil || i.merge.isComplete() {
		return err
	}
	if last := i.LastError(); last != nil {
		cause = fmt.Errorf("%w: last error: %w", cause, last)
	}
	return fmt.Errorf("informer %s has not reached resourceVersion %s of every source: %w",
		i.Name(), resourceVersion, cause)
}

// waiter waits for every source to come to a version, and then for a mark to come to the store.
type waiter struct {
	version string
	mark    int  // the number of a bookmark; 0 before it is queued
	unclear bool // the sources' version does not compare
	done    chan struct{}
}

// waiters are the callers that wait. Their lock is apart from the merge's, because the consumer takes it.
type waiters struct {
	mu     sync.Mutex // protects what follows, and the marks
	all    map[*waiter]struct{}
	stored int // how many lists and bookmarks have come to the store
}

func (m *merge[T]) enter(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiters.mu.Lock()
	m.waiters.all[w] = struct{}{}
	m.waiters.mu.Unlock()
	m.tellVersionLocked()
}

func (m *merge[T]) leave(w *waiter) {
	m.waiters.mu.Lock()
	defer m.waiters.mu.Unlock()
	delete(m.waiters.all, w)
}

// mark gives a mark to those who wait for version or less and have none: to all, if it does not compare. It reports
// whether there are such. The mark 0 only asks.
func (ws *waiters) mark(version string, mark int) (any bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		if w.mark == 0 && (order(w.version, version) <= 0 || !rv.IsComparable(version)) {
			w.mark, w.unclear, any = mark, version != "" && !rv.IsComparable(version), true
		}
	}
	return any
}

// advance notes that one more list or bookmark is in the store.
func (ws *waiters) advance() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.stored++
	for w := range ws.all {
		if w.mark != 0 && w.mark <= ws.stored {
			close(w.done)
			delete(ws.all, w)
		}
	}
}

func (ws *waiters) isEmpty() bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return len(ws.all) == 0
}

// tellVersionLocked lets the store's version follow the slowest source. If that has come to what somebody waits for,
// it queues a bookmark in any case, as when sources that were added have come to the others.
func (m *merge[T]) tellVersionLocked() {
	m.syncLocked()
	lowest := m.lowestLocked()
	isKnown := len(m.sources) == 0 || lowest != "" && lowest != "0"
	haveJoined := m.joining && (len(m.sources) == 0 || order(lowest, m.told) >= 0)
	isAsked := haveJoined || m.waiters.mark(lowest, 0)
	if m.stopped || !m.synced || !isKnown || order(lowest, m.told) <= 0 && !isAsked {
		return
	}
	m.recheckLocked() // the sources may have passed losses by events
	for e := range m.waiting {
		if e.listed && e.isShown && len(e.holders) == 0 {
			return // it may have ended before lowest; the end of the grace comes back here
		}
	}
	m.waiters.mark(lowest, m.queued+1)
	if order(lowest, m.told) > 0 {
		m.told = lowest
	}
	m.queued++
	if haveJoined {
		m.completeLocked()
	}
	_ = m.queue.Bookmark(m.told)
}

// completeLocked notes that the list or bookmark that is queued next tells of every source.
func (m *merge[T]) completeLocked() { m.joining, m.complete = false, m.queued }

// isComplete reports whether the store's version is about every source.
func (m *merge[T]) isComplete() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiters.mu.Lock()
	defer m.waiters.mu.Unlock()
	return !m.joining && m.complete <= m.waiters.stored
}
