package indexer

import (
	"sync"
	"sync/atomic"
)

// IndexFunc appends to the empty dst the values of obj in the index. A value named twice counts once. It must depend on
// obj alone, and must not keep dst. An error or panic costs obj its place in this index, until its next version.
//
// It runs inside a write: a read of the store shows the store as it was before, and a write to the store blocks for
// ever. The method Index calls it outside of any write.
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

	writing sync.Mutex // held during a whole write, and locked before mu; guards answers
	answers answers[K]

	// mu guards content. To change it takes writing and mu, to read it either of them. A snapshot marks chunks with mu
	// alone.
	mu      sync.RWMutex
	content content[K, T]
	latest  atomic.Pointer[moment[K, T]] // what snapshots of the present content share; nil if there is none
}

// New returns an empty store.
func New[K comparable, T any](opts Options[K, T]) *Store[K, T] {
	s := &Store[K, T]{opts: opts, content: newContent[K, T](nil, nil, "")}
	_ = s.AddIndexers(opts.Indexers) // its only error is a name that is taken
	return s
}

// write runs change as the only writer. Then, with the store unlocked, it tells OnError which index functions failed.
func (s *Store[K, T]) write(change func()) {
	for _, f := range s.writeAlone(change) {
		s.opts.OnError(f.key, f.err)
	}
}

func (s *Store[K, T]) writeAlone(change func()) []failure[K] {
	s.writing.Lock()
	defer s.writing.Unlock()
	defer s.answers.forget() // also if change panics
	change()
	return s.answers.failed // forget leaves this slice alone
}

// lockReadersOut runs change, which changes the content, with mu locked. It is called inside of write.
func (s *Store[K, T]) lockReadersOut(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.Store(nil)
	change()
}

// ask asks an index function about an object. If the function fails, there are no values, and OnError is told after the
// write. The values may be in the memory of the empty dst.
func (s *Store[K, T]) ask(ix *index[T], key K, obj T, dst []string) []string {
	values, err := ix.valuesOf(obj, dst)
	if err != nil && s.opts.OnError != nil {
		s.answers.failed = append(s.answers.failed, failure[K]{key, err})
	}
	return values
}

// indexOf returns an index of all objects of c. It is not one of c's indices yet.
func (s *Store[K, T]) indexOf(c *content[K, T], name string, fn IndexFunc[T]) *index[T] {
	ix := &index[T]{name: name, fn: fn, sets: newShrinkingMap[string, *set](0)}
	var values []string
	for slot := range uint32(c.keys.len) {
		values = s.ask(ix, c.keys.at(slot), c.objs.at(slot), values[:0])
		ix.update(slot, values)
	}
	return ix
}
