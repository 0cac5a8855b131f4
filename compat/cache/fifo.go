package cache

import "sync"

// FIFO is a Queue of objects, not of changes. It holds the newest object of each key, in the order in which the keys
// came. It holds nothing for deleted keys. All methods may be called from any goroutine.
type FIFO struct {
	keyFunc KeyFunc

	// mu protects everything below. Process functions run under it.
	mu       sync.Mutex
	nonEmpty sync.Cond
	items    map[string]any
	// keys may hold deleted keys. It holds a key twice that was deleted and added again: the first place counts.
	// Invariant: every key of items is in keys.
	keys    []string
	initial initialList
	closed  bool
}

var (
	_ Queue       = (*FIFO)(nil)
	_ DoneChecker = (*FIFO)(nil)
)

// NewFIFO returns an empty queue of objects that keyFunc names.
func NewFIFO(keyFunc KeyFunc) *FIFO {
	f := &FIFO{keyFunc: keyFunc, items: map[string]any{}, initial: newInitialList()}
	f.nonEmpty.L = &f.mu
	return f
}

// Add queues obj, in the place of an older version if one is queued. The error is a KeyError.
func (f *FIFO) Add(obj any) error {
	key, err := f.keyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.eventLocked()
	if _, isQueued := f.items[key]; !isQueued {
		f.keys = append(f.keys, key)
		f.nonEmpty.Signal()
	}
	f.items[key] = obj
	return nil
}

// Update is Add.
func (f *FIFO) Update(obj any) error { return f.Add(obj) }

// Delete removes the queued object with obj's key. The error is a KeyError.
func (f *FIFO) Delete(obj any) error {
	key, err := f.keyFunc(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial.eventLocked()
	delete(f.items, key)
	return nil
}

// Replace makes list, in its order, the content of the queue. If one of its objects has no key, nothing changes and the
// error is a KeyError.
func (f *FIFO) Replace(list []any, _ string) error {
	items, keys := make(map[string]any, len(list)), make([]string, 0, len(list))
	for _, obj := range list {
		key, err := f.keyFunc(obj)
		if err != nil {
			return KeyError{Obj: obj, Err: err}
		}
		if _, twice := items[key]; !twice {
			keys = append(keys, key)
		}
		items[key] = obj
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items, f.keys = items, keys
	f.initial.listLocked(len(items))
	f.nonEmpty.Broadcast()
	return nil
}

// Resync does nothing, for every object is queued.
func (f *FIFO) Resync() error { return nil }

// Pop takes the oldest object, passes it to process, and returns it with the result of process. It blocks until there
// is an object; of a closed and empty queue it returns ErrFIFOClosed. process runs under the queue's lock and must not
// call the queue.
func (f *FIFO) Pop(process PopProcessFunc) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for len(f.keys) == 0 {
			if f.closed {
				return nil, ErrFIFOClosed
			}
			f.nonEmpty.Wait()
		}
		key := f.keys[0]
		f.keys[0], f.keys = "", f.keys[1:]
		obj, isQueued := f.items[key]
		if !isQueued { // deleted
			f.initial.processedLocked(1)
			continue
		}
		delete(f.items, key)
		defer f.initial.processedLocked(1)
		return obj, process(obj, !f.initial.isDone())
	}
}

// Close ends Pop once the queue is empty. Producers may still add.
func (f *FIFO) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.nonEmpty.Broadcast()
}

// IsClosed tells whether Close was called.
func (f *FIFO) IsClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// HasSynced tells whether all of the first list was processed, or another event came before any list. It never blocks.
func (f *FIFO) HasSynced() bool { return f.initial.isDone() }

// HasSyncedChecker is done when HasSynced is true.
func (f *FIFO) HasSyncedChecker() DoneChecker { return f }

// Name returns "FIFO".
func (f *FIFO) Name() string { return "FIFO" }

// Done is closed when HasSynced turns true.
func (f *FIFO) Done() <-chan struct{} { return f.initial.done }
