package indexer

import (
	"fmt"
	"hash/maphash"
	"iter"
	"sync/atomic"
)

// root is everything a snapshot needs: the pointers at the top of the store at one moment. It never changes.
type root[K comparable, T any] struct {
	pin     *pin
	seed    maphash.Seed
	n       int
	rv      string
	keys    *spine[K]
	objs    *spine[T]
	dir     *directory
	indices []view[T] // those that are ready
}

// view is one index of a root.
type view[T any] struct {
	def   *definition[T]
	dir   *directory
	posts *spine[*posting]
}

// pin knows whether a root is in use. It is apart from the root so that the store's list of pins keeps no old chunk alive.
type pin struct {
	epoch    uint64
	visitors atomic.Int64
	// settled: somebody is a settler. A flag and not a number: nobody takes a settler off again, and a number would
	// overflow if there are many snapshots and no write.
	settled atomic.Bool
}

// user is how a root is used.
type user bool

const (
	visitor user = false // will leave
	settler user = true  // need not
)

func (p *pin) enter(u user) {
	switch {
	case u == visitor:
		p.visitors.Add(1)
	case !p.settled.Load(): // a store would take the cache line from other readers
		p.settled.Store(true)
	}
}

// acquire returns the root of this moment. Without a write since the last one, that takes no lock.
func (s *Store[K, T]) acquire(u user) *root[K, T] {
	if r := s.published.Load(); r != nil && s.enter(r, u) {
		return r
	}
	// Allocated before the lock is taken: where readers make much garbage, the collector lets who allocates wait.
	fresh := newRoot[K, T](len(*s.defs.Load()))
	lock(&s.mu)
	r := s.published.Load()
	if r == nil {
		r = s.freezeLocked(fresh)
	}
	r.pin.enter(u)
	s.mu.Unlock()
	return r
}

// enter counts a user in, unless r is no longer the published root.
//
// A writer first withdraws the published root and then looks at the users; a reader first counts itself in and then
// looks whether the root is still published. So either the reader sees that it came too late, or the writer sees the
// reader (and copies what it shares). A settler that comes too late leaves its mark: at worst chunks are copied in vain.
func (s *Store[K, T]) enter(r *root[K, T], u user) bool {
	r.pin.enter(u)
	if s.published.Load() == r {
		return true
	}
	if u == visitor {
		r.release()
	}
	return false
}

// release ends a visit.
func (r *root[K, T]) release() { r.pin.visitors.Add(-1) }

// newRoot returns a blank one with room for so many indices.
func newRoot[K comparable, T any](indices int) *root[K, T] {
	return &root[K, T]{pin: &pin{}, indices: make([]view[T], 0, indices)}
}

// freezeLocked publishes the present state in r, which is blank, and starts the next epoch.
func (s *Store[K, T]) freezeLocked(r *root[K, T]) *root[K, T] {
	r.pin.epoch = s.clock.now
	r.seed, r.n, r.rv = s.seed, int(s.n), s.rv
	r.keys, r.objs, r.dir = s.keys.sp.Load(), s.objs.sp.Load(), s.table.dir.Load()
	for _, ix := range s.indices {
		if ix.ready {
			r.indices = append(r.indices, view[T]{ix.def, ix.table.dir.Load(), ix.posts.sp.Load()})
		}
	}
	s.clock.now++
	s.pins = append(s.pins, r.pin)
	s.published.Store(r)
	return r
}

// maxPins is how many later snapshots the store waits for a visitor to leave. Then the visited one counts as if nobody
// gave it back, which is always safe and costs no more than Snapshot does. So the store forgets visitors that never leave:
// loops over All that were ended by a panic or by runtime.Goexit.
const maxPins = 64

// prunePinsLocked drops the pins that nobody uses and sets the barrier to the latest of the others. It runs after the
// published root was withdrawn, so a pin without users stays without (see enter).
func (s *Store[K, T]) prunePinsLocked() {
	w := &s.clock
	w.barrier = w.frozen
	kept := s.pins[:0]
	for _, p := range s.pins {
		switch {
		case p.settled.Load() || w.now-p.epoch > maxPins:
			w.frozen = max(w.frozen, p.epoch)
		case p.visitors.Load() > 0:
			kept = append(kept, p)
		default:
			continue
		}
		w.barrier = max(w.barrier, p.epoch)
	}
	clear(s.pins[len(kept):])
	s.pins = kept
}

func (r *root[K, T]) find(key K) (uint32, bool) {
	return find(r.dir, r.keys, key, uint32(maphash.Comparable(r.seed, key)>>32))
}

func (r *root[K, T]) get(key K) (obj T, ok bool) {
	slot, ok := r.find(key)
	if ok {
		obj = *r.objs.at(slot)
	}
	return obj, ok
}

// view returns the index of that name, nil if there is none.
func (r *root[K, T]) view(name string) *view[T] {
	for i := range r.indices {
		if r.indices[i].def.name == name {
			return &r.indices[i]
		}
	}
	return nil
}

// posting returns what is filed under value, nil for nothing.
func (r *root[K, T]) posting(v *view[T], value string) *posting {
	_, p := findValue(v.dir, v.posts, value, tagOfValue(r.seed, value))
	return p
}

func noIndex(name string) error { return fmt.Errorf("indexer: there is no index %q", name) }

// Snapshot is a store at one moment: what is written later does not show in it. It may be copied, kept, and used by many
// goroutines. It holds the memory of that moment: the chunks that the store has copied or dropped since. The zero value
// is an empty snapshot without indices.
//
// A snapshot need not be closed. The price is that the next write to each chunk copies the chunk, once, even if
// the snapshot is forgotten by then. Store.All and the methods of Store that return slices take a snapshot and give it
// back; they cost the same only if they outlast 64 later snapshots, and All if a panic or runtime.Goexit ends the loop.
// GetByKey takes one after about 128 lookups in which no object was added or deleted, and does not give it back.
type Snapshot[K comparable, T any] struct {
	r *root[K, T]
}

// Snapshot returns the store as it is now, in constant time.
func (s *Store[K, T]) Snapshot() Snapshot[K, T] { return Snapshot[K, T]{s.acquire(settler)} }

// Len returns the number of objects.
func (s Snapshot[K, T]) Len() int {
	if s.r == nil {
		return 0
	}
	return s.r.n
}

// ResourceVersion returns the store's resourceVersion at the moment of the snapshot.
func (s Snapshot[K, T]) ResourceVersion() string {
	if s.r == nil {
		return ""
	}
	return s.r.rv
}

// Get returns the object under key.
func (s Snapshot[K, T]) Get(key K) (obj T, ok bool) {
	if s.r == nil {
		return obj, false
	}
	return s.r.get(key)
}

// All iterates over all objects, in no particular order.
func (s Snapshot[K, T]) All() iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		if s.r == nil {
			return
		}
		for c := range chunksOf(s.r.n) {
			keys, objs := s.r.chunk(c)
			for i, obj := range objs {
				if !yield(keys[i], obj) {
					return
				}
			}
		}
	}
}

// ByIndex iterates over the objects filed under value in the named index, in no particular order. It is an error if
// there is no such index.
func (s Snapshot[K, T]) ByIndex(name, value string) (iter.Seq2[K, T], error) {
	if s.r == nil {
		return nil, noIndex(name)
	}
	v := s.r.view(name)
	if v == nil {
		return nil, noIndex(name)
	}
	p := s.r.posting(v, value)
	return func(yield func(K, T) bool) {
		if p != nil {
			s.r.eachFiled(p, yield)
		}
	}, nil
}

// chunksOf is the number of chunks that n entries take.
func chunksOf(n int) int { return (n + chunkLen - 1) >> chunkBits }

// chunk returns the keys and objects of one chunk.
func (r *root[K, T]) chunk(c int) ([]K, []T) {
	n := min(chunkLen, r.n-c<<chunkBits)
	return r.keys.chunk(c).e[:n], r.objs.chunk(c).e[:n]
}

func (r *root[K, T]) eachFiled(p *posting, yield func(K, T) bool) {
	for c := range p.chunks() {
		for _, slot := range p.chunk(c) {
			if !yield(*r.keys.at(slot), *r.objs.at(slot)) {
				return
			}
		}
	}
}
