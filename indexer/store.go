package indexer

import (
	"sync"
	"sync/atomic"

	"glasswatch/internal/shrink"
)

// IndexFunc appends to the empty dst the values of obj in the index. A value named twice counts once. It must depend on
// obj alone, and must not keep dst. It runs inside a write: a read of the store shows the store as it was before, and a write
// to the store blocks for ever. The method Index calls it outside of any write. An error or panic costs this object its place in this index, until
// its next version.
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

	writing sync.Mutex   // held during a whole write, and locked before mu; guards answers and failed
	answers answers      // of the index functions in a transaction
	failed  []failure[K] // of index functions in this write

	mu      sync.RWMutex // guards content. To change it takes writing and mu, to read it either of them
	content content[K, T]
	latest  atomic.Pointer[moment[K, T]] // shows the present content; nil if nobody has asked for a snapshot of it
}

// answers are the values of each object of a transaction in each index. Later transactions use their memory again.
type answers struct {
	values  [][]string
	strings []string // all of values, one after the other
	answer  []string // what an index function appends to
}

// keptAnswers is the greatest number of entries that answers keep memory for. An informer's full batch, 1,000 objects,
// needs less with up to four indices of one value each.
const keptAnswers = 8 * shrink.Kept

// failure is an index function that failed on the object under key.
type failure[K comparable] struct {
	key K
	err error
}

// New returns an empty store.
func New[K comparable, T any](opts Options[K, T]) *Store[K, T] {
	s := &Store[K, T]{opts: opts, content: newContent[K, T](nil, nil, "")}
	_ = s.AddIndexers(opts.Indexers) // no name is taken yet
	return s
}

// write runs change as the only writer. Then, with the store unlocked, it tells OnError which index functions failed.
func (s *Store[K, T]) write(change func()) {
	for _, f := range s.writeAlone(change) {
		s.opts.OnError(f.key, f.err)
	}
}

func (s *Store[K, T]) writeAlone(change func()) (failed []failure[K]) {
	s.writing.Lock()
	defer s.writing.Unlock()
	defer s.forgetAnswers()
	change()
	s.shrink()
	return s.failed
}

// lockReadersOut runs change, which changes the content, with mu locked. Call it inside of write. If there is a snapshot of
// the present content, a new epoch begins: what is shared with the snapshot is of an earlier one.
func (s *Store[K, T]) lockReadersOut(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest.Load() != nil {
		s.latest.Store(nil)
		s.content.epoch++
	}
	change()
}

// ask asks an index function about an object. If the function fails, there are no values, and OnError is told after the write.
func (s *Store[K, T]) ask(ix *index[T], key K, obj T, dst []string) []string {
	values, err := ix.valuesOf(obj, dst)
	if err != nil && s.opts.OnError != nil {
		s.failed = append(s.failed, failure[K]{key, err})
	}
	return values
}

// keep copies answer behind the values that there are.
func (a *answers) keep() {
	first := len(a.strings)
	a.strings = append(a.strings, a.answer...)
	a.values = append(a.values, a.strings[first:])
	clear(a.answer)
}

// forgetAnswers lets go of the strings and errors that the index functions returned.
func (s *Store[K, T]) forgetAnswers() {
	s.failed = nil
	a := &s.answers
	if cap(a.values)+cap(a.strings)+cap(a.answer) > keptAnswers {
		*a = answers{}
		return
	}
	clear(a.values)
	clear(a.strings)
	a.values = a.values[:0]
	a.strings = a.strings[:0]
}

// indexOf returns an index of all objects of c. It is not one of c's indices yet.
func (s *Store[K, T]) indexOf(c *content[K, T], name string, fn IndexFunc[T]) *index[T] {
	ix := newIndex(name, fn)
	var values []string
	for slot := range uint32(c.keys.len) {
		values = s.ask(ix, c.keys.at(slot), c.objs.at(slot), values[:0])
		ix.update(slot, values, c.epoch)
	}
	return ix
}
