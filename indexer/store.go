package indexer

import (
	"sync"
	"sync/atomic"
)

// IndexFunc appends to the empty dst the values of obj in the index. A value named twice counts once. It must depend on
// obj alone. It runs in the goroutine of a writer, of AddIndexers or of Index, with the store unlocked, and may read
// it. An error or panic costs this object its place in this index, until its next version.
type IndexFunc[T any] func(obj T, dst []string) ([]string, error)

// Indexers maps the name of an index to its function.
type Indexers[T any] map[string]IndexFunc[T]

// Options configures a Store. Without a KeyFunc a store is written by Apply, DeleteKey and ReplaceKeyed.
type Options[K comparable, T any] struct {
	// KeyFunc gives the key of an object. Add, Update, Delete, Get and Replace need it.
	KeyFunc func(obj T) (K, error)
	// Compare orders ListKeys and IndexKeys. nil leaves them unordered.
	Compare func(a, b K) int
	// CloneKey, if not nil, copies a key of Apply, Add or Update before the store keeps it. Its memory may then be used
	// again. It must not panic, nor call the store, which is locked. Replace keeps what it is given.
	CloneKey func(key K) K
	// Indexers are the first indices. AddIndexers adds more.
	Indexers Indexers[T]
	// OnError is told of an index function that failed on the object under key. It is called after the write, in
	// the writer's goroutine with the store unlocked. nil drops the error.
	OnError func(key K, err error)
}

// Op is one write of a transaction.
type Op[K comparable, T any] struct {
	Key    K
	Obj    T
	Delete bool // removes Key instead of storing Obj
	// Filled in by Apply: what was stored under Key right before this operation.
	Old     T
	Existed bool
}

// Store is a map from keys to objects with indices. All methods may be called from any goroutine. A write:
//
//  1. ask the index functions, with mu unlocked
//  2. lock mu; if indices came or went since step 1, unlock and start again
//  3. forget the snapshot of the present moment, unless nothing that it shows changes
//  4. change the content, and copy each chunk first that a snapshot may share
//  5. unlock mu, and report index functions that failed
type Store[K comparable, T any] struct {
	opts    Options[K, T]
	scratch sync.Pool // of *scratch[K, T]

	// defs are the definitions of all indices. The slice is replaced under mu, and never changed.
	// Invariant: (*defs)[i] is that of content.indices[i].
	defs atomic.Pointer[[]*definition[T]]

	mu sync.RWMutex // guards all below
	content[K, T]
	rv string
	// epoch counts snapshots, from 1. It is atomic: a reader that takes a snapshot adds 1 under the read lock.
	// Invariant: what was made in this epoch is shared with no snapshot.
	epoch atomic.Uint64
	// present is the snapshot of the present moment. nil: nobody has asked for it since the last write.
	present atomic.Pointer[moment[K, T]]
}

// New returns an empty store.
func New[K comparable, T any](opts Options[K, T]) *Store[K, T] {
	if opts.CloneKey == nil {
		opts.CloneKey = func(key K) K { return key }
	}
	s := &Store[K, T]{opts: opts}
	s.scratch.New = func() any { return new(scratch[K, T]) }
	s.slots = map[K]uint32{}
	s.epoch.Store(1)
	s.defs.Store(new([]*definition[T]))
	_ = s.AddIndexers(opts.Indexers) // no name is taken yet
	return s
}
