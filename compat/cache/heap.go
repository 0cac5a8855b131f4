package cache

import (
	"container/heap"
	"errors"
	"sync"
)

// Heap is a queue that hands out the least object first. All methods may be called from any goroutine.
type Heap struct {
	keyFunc KeyFunc

	// mu protects everything below. The KeyFunc may, and the LessFunc does, run under it.
	mu       sync.RWMutex
	nonEmpty sync.Cond
	entries  entryHeap
	byKey    map[string]*heapEntry
	closed   bool
}

// heapEntry is an object and its place in the heap.
type heapEntry struct {
	key   string
	obj   any
	place int
}

var (
	errHeapClosed   = errors.New("heap is closed")
	errNotInTheHeap = errors.New("object not found")
)

// NewHeap returns an empty heap of objects that keyFn names and lessFn orders.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap {
	h := &Heap{keyFunc: keyFn, entries: entryHeap{less: lessFn}, byKey: map[string]*heapEntry{}}
	h.nonEmpty.L = &h.mu
	return h
}

// Add puts obj in, in place of an object with its key. The error is a KeyError, or that the heap is closed.
func (h *Heap) Add(obj any) error { return h.put([]any{obj}, true) }

// Update is Add.
func (h *Heap) Update(obj any) error { return h.Add(obj) }

// AddIfNotPresent puts obj in unless an object has its key. The error is as Add's.
func (h *Heap) AddIfNotPresent(obj any) error { return h.put([]any{obj}, false) }

// BulkAdd is Add for many objects in one step. It stops at the first object without a key.
func (h *Heap) BulkAdd(list []any) error { return h.put(list, true) }

func (h *Heap) put(list []any, replace bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errHeapClosed
	}
	defer h.nonEmpty.Broadcast()
	for _, obj := range list {
		key, err := h.keyFunc(obj)
		if err != nil {
			return KeyError{Obj: obj, Err: err}
		}
		if e := h.byKey[key]; e == nil {
			e = &heapEntry{key: key, obj: obj}
			h.byKey[key] = e
			heap.Push(&h.entries, e)
		} else if replace {
			e.obj = obj
			heap.Fix(&h.entries, e.place)
		}
	}
	return nil
}

// Delete removes the object with obj's key. The error is a KeyError, or that there is no such object.
func (h *Heap) Delete(obj any) error {
	key, err := h.keyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.byKey[key]
	if e == nil {
		return errNotInTheHeap
	}
	heap.Remove(&h.entries, e.place)
	delete(h.byKey, key)
	return nil
}

// Pop takes the least object. It blocks until there is one, or returns an error once the heap is closed and empty.
func (h *Heap) Pop() (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.byKey) == 0 {
		if h.closed {
			return nil, errHeapClosed
		}
		h.nonEmpty.Wait()
	}
	e := heap.Pop(&h.entries).(*heapEntry)
	delete(h.byKey, e.key)
	return e.obj, nil
}

// List returns all objects, in no particular order.
func (h *Heap) List() []any {
	h.mu.RLock()
	defer h.mu.RUnlock()
	list := make([]any, 0, len(h.byKey))
	for _, e := range h.byKey {
		list = append(list, e.obj)
	}
	return list
}

// ListKeys returns the keys of all objects, in no particular order.
func (h *Heap) ListKeys() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	keys := make([]string, 0, len(h.byKey))
	for key := range h.byKey {
		keys = append(keys, key)
	}
	return keys
}

// Get returns the object that has obj's key. The error is a KeyError.
func (h *Heap) Get(obj any) (any, bool, error) {
	key, err := h.keyFunc(obj)
	if err != nil {
		return nil, false, KeyError{Obj: obj, Err: err}
	}
	return h.GetByKey(key)
}

// GetByKey returns the object under key. The error is always nil.
func (h *Heap) GetByKey(key string) (any, bool, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	e, ok := h.byKey[key]
	if !ok {
		return nil, false, nil
	}
	return e.obj, true, nil
}

// Close refuses further objects, and ends Pop once the heap is empty.
func (h *Heap) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.nonEmpty.Broadcast()
}

// IsClosed tells whether Close was called.
func (h *Heap) IsClosed() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.closed
}

// entryHeap implements heap.Interface.
type entryHeap struct {
	less    LessFunc
	entries []*heapEntry // each at its place
}

func (h *entryHeap) Len() int           { return len(h.entries) }
func (h *entryHeap) Less(i, j int) bool { return h.less(h.entries[i].obj, h.entries[j].obj) }

func (h *entryHeap) Swap(i, j int) {
	h.entries[i], h.entries[j] = h.entries[j], h.entries[i]
	h.entries[i].place, h.entries[j].place = i, j
}

func (h *entryHeap) Push(x any) {
	e := x.(*heapEntry)
	e.place = len(h.entries)
	h.entries = append(h.entries, e)
}

func (h *entryHeap) Pop() any {
	last := len(h.entries) - 1
	e := h.entries[last]
	h.entries[last] = nil
	h.entries = h.entries[:last]
	return e
}
