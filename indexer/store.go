package indexer

import "sync"

// IndexFunc appends to the empty dst the values of obj in the index. A value named twice counts once. It must depend on
// obj alone. It runs inside a write, AddIndexers or Index, so it may read the store, but must not write to it. An error
// or panic costs this object its place in this index, until its next version.
type IndexFunc[T any] func(obj T, dst []string) ([]string, error)

// Indexers maps the name of an index to its function.
type Indexers[T any] map[string]IndexFunc[T]

// Options configures a Store. Without a KeyFunc a store is written by Apply, DeleteKey and ReplaceKeyed.
type Options[K comparable, T any] struct {
	// KeyFunc gives the key of an object. Add, Update, Delete, Get and Replace need it.
	KeyFunc func(obj T) (K, error)
	// Compare orders ListKeys and IndexKeys. nil leaves them unordered.
	Compare func(a, b K) int
	// Indexers are the first indices. AddIndexers adds more.
	Indexers Indexers[T]
	// OnError is told of an index function that failed on the object under key. It is called after the write, in
	// the writer's goroutine with the store unlocked. nil drops the error.
	OnError func(key K, err error)
}

// Store is a map from keys to objects with indices. All methods may be called from any goroutine.
type Store[K comparable, T any] struct {
	opts Options[K, T]

	writing sync.Mutex // held during a whole write, locked before mu; guards values and failed
	values  [][]string // what the index functions said of a write's objects; kept, so that an update allocates nothing
	failed  []func()   // tell OnError, after the write

	mu      sync.RWMutex  // guards what follows. Only the holder of writing locks it to change the content
	content content[K, T] // the holder of writing may read it without mu
	latest  *moment[K, T] // the snapshot of the present content. nil: nobody has asked for it yet
}

// New returns an empty store.
func New[K comparable, T any](opts Options[K, T]) *Store[K, T] {
	s := &Store[K, T]{opts: opts, content: newContent[K, T](nil, nil, "")}
	_ = s.AddIndexers(opts.Indexers) // no name is taken yet
	return s
}

// write runs change as the only writer. Then, with the store unlocked, it tells OnError which index functions failed.
func (s *Store[K, T]) write(change func()) {
	for _, report := range s.writeAlone(change) {
		report()
	}
}

func (s *Store[K, T]) writeAlone(change func()) (reports []func()) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.values, s.failed = s.values[:0], nil
	change()
	if s.content.isMostlyEmpty() {
		smaller := s.content.rebuild()
		s.lockReadersOut(func() { s.content = smaller })
	}
	if cap(s.values) > maxKept {
		s.values = nil
	}
	return s.failed
}

// maxKept is the number of answers of index functions for which memory is kept from one write to the next.
const maxKept = 1 << 10

// lockReadersOut runs change, which changes the content, with mu locked. It must be called inside write.
func (s *Store[K, T]) lockReadersOut(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = nil
	change()
}

// ask asks an index function about an object. If it fails, OnError is told after the write.
func (s *Store[K, T]) ask(ix *index[T], key K, obj T, scratch []string) []string {
	values, err := ix.valuesOf(obj, scratch)
	if err != nil && s.opts.OnError != nil {
		s.failed = append(s.failed, func() { s.opts.OnError(key, err) })
	}
	return values
}

// indexOf returns an index of all objects of c. It is not one of c's indices yet.
func (s *Store[K, T]) indexOf(c *content[K, T], name string, fn IndexFunc[T]) *index[T] {
	ix := newIndex(name, fn)
	var values []string
	for slot := range uint32(c.keys.len) {
		values = s.ask(ix, c.keys.at(slot), c.objs.at(slot), values[:0])
		ix.push(values)
	}
	return ix
}
