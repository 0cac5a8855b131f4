// Package mutationcache lets a program read its own writes. It lies over a store that is told of each write with a
// delay, and remembers what the server answered to the program's writes until the store has caught up.
//
//	server's answer to a write ──Mutation──▶ [ mutations ]─┐ the newer
//	watch ──▶ handlers ─OnAddOrUpdate, OnDelete─▲          ├──────────▶ GetByKey, ByIndex
//	  └─────────────────────────────▶ [ backing store ]────┘
//
// # Guarantees
//
//   - A read returns the newer of the two versions of an object. Versions are compared by Options.Compare.
//   - A deletion that the cache was told of ends the mutations of that object. Those that come later are refused as long
//     as the deletion is remembered: until a newer mutation takes its place under the key, or its age or number ends it.
//   - Mutations are forgotten by age and by number, the oldest first. The memory is bounded by Options.MaxSize.
//   - No lock is held while KeyFunc, Compare, index functions or the backing store run.
//   - An index function or a comparison that fails is reported to OnError with the key.
//
// # Not guaranteed
//
// That a mutation is remembered: it may be too old, or there may be too many. That a read shows the program's last
// write: the backing store may know of a later one. That ByIndex is one moment across objects. That memory is given
// back: a Go map keeps that of its largest size, here the most mutations that there were at a time.
package mutationcache

import (
	"cmp"
	"sync"
	"time"

	"glasswatch/indexer"
)

// Backing is the store that a Cache lies over; an indexer.Store is one. It is never called with a lock held.
type Backing[K comparable, T any] interface {
	GetByKey(key K) (T, bool)
	ByIndex(name, value string) ([]T, error)
	GetIndexers() indexer.Indexers[T]
}

// Options configures a Cache.
type Options[K comparable, T any] struct {
	// KeyFunc gives the key of an object. Required.
	KeyFunc func(obj T) (K, error)
	// Compare is negative if a is the older version, zero if a and b are of the same, positive if a is the newer.
	// Required. Where it fails, the backing store's object is taken.
	Compare func(a, b T) (int, error)
	// Same tells whether a and b are versions of one object, by their UIDs. Two objects may have the same key, one
	// after the other. nil: they may always be two.
	Same func(a, b T) bool
	// TTL is how long a mutation is remembered. Zero: 5 minutes; negative: for ever.
	TTL time.Duration
	// MaxSize is how many mutations are remembered; beyond it the oldest is forgotten. Zero: 100; negative: no limit.
	MaxSize int
	// IncludeAdds returns also objects that the backing store does not have. An object that was written, and deleted by
	// somebody else before the backing store heard of it, is then returned until its TTL is over.
	IncludeAdds bool
	// OnError is told of a version that could not be compared, and of an index function that failed on the mutation
	// under key. It is called with no lock held. nil drops the error.
	OnError func(key K, err error)
}

// Cache is an overlay of the program's own writes. Telling it what the handlers of the watch are told is optional:
// mutations are then let go early, and a deletion ends them.
//
// All methods may be called from any goroutine.
type Cache[K comparable, T any] struct {
	opts    Options[K, T]
	backing Backing[K, T]

	mu        sync.Mutex // guards mutations; no user code runs under it
	mutations *entries[K, mutation[T]]
}

// mutation is a version that the program wrote, or the last version of an object that is known to be deleted.
type mutation[T any] struct {
	obj     T
	deleted bool
}

// New returns a cache over backing that remembers nothing yet.
func New[K comparable, T any](backing Backing[K, T], opts Options[K, T]) *Cache[K, T] {
	opts.TTL = cmp.Or(opts.TTL, 5*time.Minute)
	opts.MaxSize = cmp.Or(opts.MaxSize, 100)
	return &Cache[K, T]{
		opts:      opts,
		backing:   backing,
		mutations: newEntries[K, mutation[T]](opts.TTL, opts.MaxSize),
	}
}

// Mutation remembers obj, the server's answer to a write, unless a newer version is remembered already or the object is
// known to be deleted. The error is KeyFunc's or Compare's; nothing is remembered then.
func (c *Cache[K, T]) Mutation(obj T) error {
	return c.change(obj, &mutation[T]{obj: obj}, func(old mutation[T], order int) bool {
		if old.deleted {
			return order > 0 && !c.same(obj, old.obj)
		}
		return order >= 0
	})
}

// OnAddOrUpdate notes that the backing store has obj: an equal or older mutation is let go. A deletion stays remembered,
// for a mutation that comes late. The error is KeyFunc's or Compare's.
func (c *Cache[K, T]) OnAddOrUpdate(obj T) error {
	return c.change(obj, nil, func(old mutation[T], order int) bool { return order >= 0 && !old.deleted })
}

// OnDelete notes that obj is deleted: mutations of it, and older ones under its key, are let go. Its own are refused
// from then on. obj is remembered for that, for as long as a mutation is. The error is KeyFunc's or Compare's.
func (c *Cache[K, T]) OnDelete(obj T) error {
	return c.change(obj, &mutation[T]{obj: obj, deleted: true}, func(old mutation[T], order int) bool {
		return order >= 0 || !old.deleted && c.same(obj, old.obj)
	})
}

func (c *Cache[K, T]) same(a, b T) bool { return c.opts.Same != nil && c.opts.Same(a, b) }

// change puts next in the place of what is remembered under obj's key; nil forgets that. What is there stays unless
// replaces says otherwise, given the order of obj's version and its own. User code runs without the lock, so change
// begins anew if another goroutine was faster.
func (c *Cache[K, T]) change(obj T, next *mutation[T], replaces func(old mutation[T], order int) bool) error {
	key, err := c.opts.KeyFunc(obj)
	if err != nil {
		return err
	}
	for {
		old := c.lookup(key)
		if old != nil {
			order, err := c.opts.Compare(obj, old.value.obj)
			if err != nil || !replaces(old.value, order) {
				return err
			}
		}
		if c.exchange(key, old, next) {
			return nil
		}
	}
}

// lookup returns the entry under key, nil if there is none.
func (c *Cache[K, T]) lookup(key K) *entry[K, mutation[T]] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mutations.expire()
	return c.mutations.byKey[key]
}

// exchange puts next (nil: nothing) in the place of old (nil: nothing), if that is still what is under key.
func (c *Cache[K, T]) exchange(key K, old *entry[K, mutation[T]], next *mutation[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mutations.byKey[key] != old {
		return false
	}
	if next == nil {
		c.mutations.remove(key)
	} else {
		c.mutations.set(key, *next)
	}
	return true
}
