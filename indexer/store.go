package indexer

import (
	"hash/maphash"
	"reflect"
	"sync"
	"sync/atomic"
)

// IndexFunc appends to dst the values under which obj is filed in one index, and returns the result. dst is empty;
// its spare capacity belongs to the store. A value named twice counts once. The function must depend on obj alone and
// runs in the goroutine of the writer, with no lock held; it may read the store. An error or a panic costs this object
// its place in this index, until its next version.
type IndexFunc[T any] func(obj T, dst []string) ([]string, error)

// Indexers maps the name of an index to its function.
type Indexers[T any] map[string]IndexFunc[T]

// Options configures a Store. The zero value makes a store that is written through Apply and DeleteKey only.
type Options[K comparable, T any] struct {
	// KeyFunc gives the key of an object. Add, Update, Delete, Get and Replace need it.
	KeyFunc func(obj T) (K, error)
	// Compare orders ListKeys and IndexKeys; nil leaves them unordered.
	Compare func(a, b K) int
	// CloneKey, if not nil, makes the key that the store keeps of one that Apply, Add or Update brought and that is new; an update
	// leaves the key that is there. So the memory of keys may be used again when the call returns. It must return an equal key,
	// not panic, and not call the store, which may be locked. If nil, the store keeps the keys that it is given, and as a rule of
	// an update the new one, lest an object that is gone be kept for its strings. Replace keeps what it is given in any case.
	CloneKey func(key K) K
	// Indexers are the first indices; AddIndexers adds more.
	Indexers Indexers[T]
	// OnError hears of an index function that failed on the object under key, which is stored and missing from that
	// index only. It is called after the write, with no lock held, in the writer's goroutine. nil drops the error.
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

// Store is a map from keys to objects with indices. All methods may be called from any goroutine.
//
//	          hash           slot                  slot 0 1 2 … n-1, no holes
//	key ──▶ [ table ] ─────────────────▶ keys      |k|k|k|…|k|
//	                                     objs      |o|o|o|…|o|
//	value ─▶ [ table ] ─id─▶ posting ─slots─▲      (one table and its postings for each index)
//
// Everything in the picture is cut into chunks of at most 256 entries, each stamped with the epoch it was made in. A
// snapshot is the set of pointers at the top; it starts the next epoch. A writer that meets a chunk which a living
// snapshot may share copies that chunk and no more; otherwise it writes in place.
//
// A write goes through these steps:
//
//  1. hash the keys and run the index functions, with no lock held; from here on readers give way, if they are many (leave)
//  2. lock mu; if indices came or went since step 1, unlock and start again
//  3. withdraw the published snapshot; see what living snapshots share (begin)
//  4. lock the stripes of the keys, as they come, and change the chunks
//  5. unlock all stripes, then mu (commit): from here on everybody sees the write, whole; lookups without a lock saw the update
//     of one object when it was stored
//
// GetByKey locks one stripe, or none. After about restAfter lookups the store keeps a snapshot of the table and the keys
// (places), and lookups find slots in that, until an object is added or deleted. What is in a slot they load from the store
// as it is: an update of one object is a store of one word then, and steps 4 and 5 need no stripe. What must be seen whole makes
// turn odd for as long as it takes; a lookup that meets that, before or after, locks its stripe. Everything else reads a
// snapshot anyway.
//
// The fields stand in the order of who uses them, so that writers do not take the cache lines that lookups only read.
type Store[K comparable, T any] struct {
	keyFunc  func(T) (K, error)
	compare  func(a, b K) int
	onError  func(K, error)
	cloneKey func(K) K
	pointers bool // T is a pointer: one word
	seed     maphash.Seed
	scratch  sync.Pool // of *scratch[K, T]

	// published is the snapshot of the present moment, if anybody asked for one since the last write.
	// Invariant: nil while a write is under way.
	published atomic.Pointer[root[K, T]]
	// resting is where lookups look once they take no lock: see rest.
	// Invariant: nil, or keys and slots are as it says, and its snapshot is settled.
	resting atomic.Pointer[places[K, T]]
	// turn is odd while a write is under way that lookups without a lock must not see a part of.
	turn atomic.Uint64
	// defs are the definitions of indices, in order; a slice is never changed, only replaced (under mu).
	defs atomic.Pointer[[]*definition[T]]

	// Written with mu and the stripe, and read with either. Objects that are cells are also written with mu alone, and read with
	// neither: see places.
	keys  vec[K]
	objs  vec[T]
	table table

	*apart
	_ [64]byte

	// size is the number of objects, for Len, which takes no lock.
	size atomic.Int64
	// writers is how many transactions and replacements are under way, with mu or without.
	writers atomic.Int32
	// mu makes writers take turns and snapshots fall between them. It guards all below.
	mu sync.Mutex
	// Invariant: slots 0…n-1 of keys and objs are in use, all others are zero.
	n       uint32
	indices []*index[T] // Invariant: indices[i].def == defs[i]
	rv      string
	clock   clock
	held    uint64 // stripes that the present write holds, a bit each
	pins    []*pin // snapshots that may still be in use
	// disturbed: the present write has made turn odd.
	disturbed bool
}

// New returns an empty store.
func New[K comparable, T any](opts Options[K, T]) *Store[K, T] {
	s := &Store[K, T]{
		keyFunc:  opts.KeyFunc,
		compare:  opts.Compare,
		onError:  opts.OnError,
		cloneKey: opts.CloneKey,
		pointers: reflect.TypeFor[T]().Kind() == reflect.Pointer,
		seed:     maphash.MakeSeed(),
		apart:    new(apart),
		clock:    clock{now: 1},
	}
	s.scratch.New = func() any { return new(scratch[K]) }
	s.keys.initSized(0, s.clock.now)
	s.objs.initSized(0, s.clock.now)
	s.table.init(stripeBits, s.clock.now)
	defs := sortedDefinitions(opts.Indexers)
	s.defs.Store(&defs)
	for _, d := range defs {
		ix := newIndex(d, s.seed, s.clock.now)
		ix.ready = true
		s.indices = append(s.indices, ix)
	}
	return s
}

// tagOf hashes a key. It panics, as a map would, if K is an interface and key's dynamic type is not comparable.
func (s *Store[K, T]) tagOf(key K) uint32 {
	return uint32(maphash.Comparable(s.seed, key) >> 32)
}

// find looks key up in frozen or locked parts of a store.
func find[K comparable](d *directory, keys *spine[K], key K, tag uint32) (slot uint32, ok bool) {
	groups := d.bucket(tag).groups
	mask := uint32(len(groups) - 1)
	for at := tag & mask; ; at = (at + 1) & mask {
		g := &groups[at]
		for m := g.match(tag); m != 0; m &= m - 1 {
			if i := entry(m); g.tags[i] == tag && *keys.at(g.slots[i]) == key {
				return g.slots[i], true
			}
		}
		if !g.full() {
			return 0, false
		}
	}
}
