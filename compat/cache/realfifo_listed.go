package cache

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// listedQueue is a RealFIFO without AtomicEvents: a list and a resync are one delta for each object, in the order of
// everything else. The layer's in-order queue has no such mode. To find the keys that a list lacks, the queue reads its
// own keys and the known objects. So no event may change the queue while the store takes over a delta.
type listedQueue struct {
	front   *front
	known   KeyListerGetter
	metrics queueMetrics

	// mu protects everything below. Process functions, and the known objects, are called with it held.
	mu       sync.Mutex
	nonEmpty sync.Cond
	items    []listed
	initial  initialList
	closed   bool
}

// listed is a delta and its key.
type listed struct {
	key   string
	delta Delta
}

func newListedQueue(front *front, known KeyListerGetter, metrics queueMetrics) *listedQueue {
	l := &listedQueue{front: front, known: known, metrics: metrics, initial: newInitialList()}
	l.nonEmpty.L = &l.mu
	return l
}

func (l *listedQueue) add(t DeltaType, q queued) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.initial.eventLocked()
	l.appendLocked(t, q.key, q.obj)
}

func (l *listedQueue) appendLocked(t DeltaType, key string, obj any) {
	l.items = append(l.items, listed{key: key, delta: Delta{Type: t, Object: obj}})
	l.metrics.setQueued(len(l.items))
	l.nonEmpty.Signal()
}

// replace queues the deletions first: an object that was deleted and made again under its name is not in the list twice.
func (l *listedQueue) replace(list []any, _ string) error {
	objs, keep, err := l.front.takeList(list)
	present := sets.New(keep...)
	for _, q := range objs {
		present.Insert(q.key)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buryLocked(present)
	for _, q := range objs {
		l.appendLocked(Replaced, q.key, q.obj)
	}
	l.initial.listLocked(len(l.items))
	return err
}

// buryLocked queues a tombstone for each queued or known key that is not present, unless its deletion is queued.
func (l *listedQueue) buryLocked(present sets.Set[string]) {
	newest := map[string]int{}
	var order []string // of their first deltas
	for i := range l.items {
		key := l.items[i].key
		if _, seen := newest[key]; !seen {
			order = append(order, key)
		}
		newest[key] = i
	}
	for _, key := range order {
		last := l.items[newest[key]].delta
		if !present.Has(key) && last.Type != Deleted {
			l.appendLocked(Deleted, key, DeletedFinalStateUnknown{Key: key, Obj: last.Object})
		}
	}
	for _, key := range l.known.ListKeys() {
		if _, isQueued := newest[key]; !isQueued && !present.Has(key) {
			obj, _ := known{l.known, l.front}.GetByKey(key)
			l.appendLocked(Deleted, key, DeletedFinalStateUnknown{Key: key, Obj: obj.obj})
		}
	}
}

// resync skips keys with queued deltas, for their known versions are about to be outdated.
func (l *listedQueue) resync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	isQueued := sets.Set[string]{}
	for i := range l.items {
		isQueued.Insert(l.items[i].key)
	}
	for _, key := range l.known.ListKeys() {
		if isQueued.Has(key) {
			continue
		}
		if q, exists := (known{l.known, l.front}).GetByKey(key); exists {
			l.appendLocked(Sync, key, q.obj)
		}
	}
}

func (l *listedQueue) bookmark(string) {}

func (l *listedQueue) pop(limit int, process func([]Delta, bool) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.items) == 0 {
		if l.closed {
			return ErrFIFOClosed
		}
		l.nonEmpty.Wait()
	}
	batch := l.takeLocked(limit)
	l.metrics.setQueued(len(l.items))
	start := time.Now()
	// This is deferred, so that the queue still works after a panic of the process function.
	defer func() {
		l.metrics.observe(time.Since(start).Seconds())
		l.initial.processedLocked(len(batch))
	}()
	return process(batch, !l.initial.isDone())
}

// takeLocked takes a batch. It ends at limit, at the end of the initial list, or before a key that it has already.
func (l *listedQueue) takeLocked(limit int) []Delta {
	n := min(limit, len(l.items))
	if l.initial.left > 0 {
		n = min(n, l.initial.left)
	}
	batch := make([]Delta, 0, n)
	unique := make(map[string]struct{}, n)
	for i := range n {
		unique[l.items[i].key] = struct{}{}
		if len(unique) == i {
			break
		}
		batch = append(batch, l.items[i].delta)
	}
	clear(l.items[:len(batch)]) // the array behind may live on
	l.items = l.items[len(batch):]
	return batch
}

func (l *listedQueue) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.nonEmpty.Broadcast()
}

func (l *listedQueue) synced() <-chan struct{} { return l.initial.done }
