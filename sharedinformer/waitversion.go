package sharedinformer

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// ErrNoStoreVersion: the informer has a per-key queue, whose store does not tell how far it has come.
var ErrNoStoreVersion = errors.New("the store of a per-key queue has no resourceVersion")

// WaitForResourceVersion blocks until the store shows everything up to resourceVersion, which must be one that a write of
// the informer's own resource returned, or a list of it: versions of other resources need not compare. Who writes and then
// waits reads his own write.
//
// The store's version moves with events, bookmarks and lists. A write that brings no event, because the informer does not
// select the object or could not read or transform it, is waited for until a later event or a bookmark; servers send one
// about once a minute. Handlers may have been told less than the store shows.
//
// A version that is no positive decimal number is an error at once, as is a per-key queue (ErrNoStoreVersion) or a store
// whose own version cannot be compared. If ctx ends or the informer stops first, the error names the informer and wraps
// the cause and, if lists or watches fail at the moment, the last of their errors.
func (i *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if i.opts.Queue == PerKey {
		return fmt.Errorf("informer %s: waiting for resourceVersion %s: %w", i.opts.Name, resourceVersion, ErrNoStoreVersion)
	}
	if _, err := resourceversion.CompareResourceVersion(resourceVersion, resourceVersion); err != nil {
		return fmt.Errorf("informer %s: cannot wait for resourceVersion %q: %w", i.opts.Name, resourceVersion, err)
	}
	w := i.versions.enter(resourceVersion)
	defer i.versions.leave(w)
	// Entered first: whatever moves the store after this look wakes w.
	i.versions.moved(i.store.ResourceVersion())
	var cause error
	select {
	case cause = <-w.done:
	case <-ctx.Done():
		select {
		case cause = <-w.done: // both: what is there is there
		default:
			cause = context.Cause(ctx)
		}
	}
	if cause == nil {
		return nil
	}
	if last := i.LastError(); last != nil {
		return fmt.Errorf("informer %s has not reached resourceVersion %s: %w: last error: %w", i.opts.Name, resourceVersion, cause, last)
	}
	return fmt.Errorf("informer %s has not reached resourceVersion %s: %w", i.opts.Name, resourceVersion, cause)
}

// versionWaiters are those who wait for the store to reach a resourceVersion. While there is nobody, a change of the store
// costs one atomic load.
type versionWaiters struct {
	count   atomic.Int64 // of those between enter and leave
	entered func()       // is called, if not nil, after each enter

	mu      sync.Mutex // protects what follows
	heap    waiterHeap // the lowest version first
	stopped bool       // the store will not move any more
}

type versionWaiter struct {
	version string
	at      int        // place in the heap; -1 once told
	done    chan error // capacity 1
}

func (v *versionWaiters) enter(version string) *versionWaiter {
	w := &versionWaiter{version: version, at: -1, done: make(chan error, 1)}
	v.count.Add(1)
	if v.entered != nil {
		defer v.entered()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	heap.Push(&v.heap, w)
	return w
}

func (v *versionWaiters) leave(w *versionWaiter) {
	v.count.Add(-1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if w.at >= 0 {
		heap.Remove(&v.heap, w.at)
	}
}

// moved wakes those whose version the store has reached.
func (v *versionWaiters) moved(to string) {
	if v.count.Load() == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.heap) > 0 && to != "" && to != "0" { // neither is the version of anything
		order, err := resourceversion.CompareResourceVersion(v.heap[0].version, to)
		if err != nil {
			err = fmt.Errorf("the store is at resourceVersion %q: %w", to, err)
		} else if order > 0 {
			break
		}
		v.wakeLocked(err)
	}
	for len(v.heap) > 0 && v.stopped {
		v.wakeLocked(ErrStopped)
	}
}

// stop tells everybody that the store will not move any more.
func (v *versionWaiters) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stopped = true
	for len(v.heap) > 0 {
		v.wakeLocked(ErrStopped)
	}
}

func (v *versionWaiters) wakeLocked(err error) {
	w := heap.Pop(&v.heap).(*versionWaiter)
	w.done <- err
}

// waiterHeap is a heap.Interface. Its versions are well formed: the longer is the greater.
type waiterHeap []*versionWaiter

func (h waiterHeap) Len() int { return len(h) }
func (h waiterHeap) Less(a, b int) bool {
	order, _ := resourceversion.CompareResourceVersion(h[a].version, h[b].version)
	return order < 0
}
func (h waiterHeap) Swap(a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].at, h[b].at = a, b
}
func (h *waiterHeap) Push(x any) {
	w := x.(*versionWaiter)
	w.at = len(*h)
	*h = append(*h, w)
}
func (h *waiterHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.at = -1
	return w
}
