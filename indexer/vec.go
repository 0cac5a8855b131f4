package indexer

import "sync/atomic"

const (
	chunkBits = 8
	chunkLen  = 1 << chunkBits
)

// clock tells writers what they may change in place. The store's mutex guards it.
type clock struct {
	// now is the epoch that things made now belong to. A snapshot belongs to the epoch it ends.
	now uint64
	// barrier is the epoch of the latest living snapshot. What was made at or before it may be shared.
	barrier uint64
	// frozen is the epoch of the latest snapshot that nobody will give back. Invariant: frozen ≤ barrier after begin.
	frozen uint64
	// copies counts chunks that were copied because they were shared.
	copies uint64
}

func (c *clock) shares(epoch uint64) bool { return epoch <= c.barrier }

// chunk is the unit of copying.
type chunk[E any] struct {
	epoch uint64
	e     [chunkLen]E
}

// spine lists the chunks of a vec. Its length is fixed: entries past the end of the vec are nil. The pointers are atomic
// because GetByKey follows them while a writer puts a copy in place, and then writes to that. The old chunk stays as it was
// when it was replaced, which was during that GetByKey: so it may return what it finds there.
type spine[E any] struct {
	epoch  uint64
	chunks []atomic.Pointer[chunk[E]]
}

func (sp *spine[E]) chunk(c int) *chunk[E] { return sp.chunks[c].Load() }

func (sp *spine[E]) at(i uint32) *E { return &sp.chunks[i>>chunkBits].Load().e[i%chunkLen] }

// ifAny returns entry i, nil if its chunk is gone.
func (sp *spine[E]) ifAny(i uint32) *E {
	if c := int(i >> chunkBits); c < len(sp.chunks) {
		if ch := sp.chunks[c].Load(); ch != nil {
			return &ch.e[i%chunkLen]
		}
	}
	return nil
}

// resized returns a spine of n entries that begins with those of sp.
func (sp *spine[E]) resized(n int, epoch uint64) *spine[E] {
	next := &spine[E]{epoch: epoch, chunks: make([]atomic.Pointer[chunk[E]], n)}
	copy(next.chunks, sp.chunks) // nobody else sees next yet, or stores into sp
	return next
}

// vec is a vector whose present content can be frozen by taking its spine. It does not know its length.
type vec[E any] struct {
	sp    atomic.Pointer[spine[E]]
	cells bool // entries are stored so that lookups without a lock may load them: see storeCell
}

// initSized makes room for n entries, all in chunks of the given epoch.
func (v *vec[E]) initSized(n int, epoch uint64) {
	count := (n + chunkLen - 1) / chunkLen
	sp := &spine[E]{epoch: epoch, chunks: make([]atomic.Pointer[chunk[E]], max(1, count))}
	for i := range count {
		sp.chunks[i].Store(&chunk[E]{epoch: epoch})
	}
	v.sp.Store(sp)
}

// trim drops the chunks past n of a vec that nobody else sees yet.
func (v *vec[E]) trim(n uint32) {
	sp := v.sp.Load()
	for c := int(n+chunkLen-1) >> chunkBits; c < len(sp.chunks); c++ {
		sp.chunks[c].Store(nil)
	}
}

func (v *vec[E]) at(i uint32) *E { return v.sp.Load().at(i) }

// owned tells whether the chunk of slot i can be written without a copy.
func (v *vec[E]) owned(i uint32, w *clock) bool {
	return !w.shares(v.sp.Load().chunk(int(i >> chunkBits)).epoch)
}

// own returns the chunk of slot i, copied if a snapshot shares it.
func (v *vec[E]) own(i uint32, w *clock) *chunk[E] {
	c := int(i >> chunkBits)
	old := v.sp.Load().chunk(c)
	if !w.shares(old.epoch) {
		return old
	}
	w.copies++
	ch := &chunk[E]{epoch: w.now, e: old.e}
	v.ownSpine(w).chunks[c].Store(ch)
	return ch
}

func (v *vec[E]) ownSpine(w *clock) *spine[E] {
	sp := v.sp.Load()
	if w.shares(sp.epoch) {
		sp = sp.resized(len(sp.chunks), w.now)
		v.sp.Store(sp)
	}
	return sp
}

// swap is set, and returns what was there.
func (v *vec[E]) swap(i uint32, e E, w *clock) (old E) {
	at := &v.own(i, w).e[i%chunkLen]
	if v.cells {
		return swapCell(at, e)
	}
	old, *at = *at, e
	return old
}

// get returns entry i, which a writer may be storing if entries are cells.
func (v *vec[E]) get(i uint32) E {
	if v.cells {
		return loadCell(v.at(i))
	}
	return *v.at(i)
}

func (v *vec[E]) set(i uint32, e E, w *clock) {
	at := &v.own(i, w).e[i%chunkLen]
	if v.cells {
		storeCell(at, e)
	} else {
		*at = e
	}
}

// push writes slot i, the first one past the end.
func (v *vec[E]) push(i uint32, e E, w *clock) {
	c := int(i >> chunkBits)
	if sp := v.sp.Load(); c == len(sp.chunks) {
		v.sp.Store(sp.resized(2*c, w.now))
	}
	if v.sp.Load().chunk(c) == nil {
		v.ownSpine(w).chunks[c].Store(&chunk[E]{epoch: w.now})
	}
	v.set(i, e, w)
}

// pop zeroes the last slot, n-1. A chunk goes once the one before it is half empty, so that a store whose size swings
// around a multiple of 256 does not make and drop a chunk each time.
func (v *vec[E]) pop(n uint32, w *clock) {
	var zero E
	v.set(n-1, zero, w)
	if n--; n%chunkLen != chunkLen/2 {
		return
	}
	used := int(n+chunkLen-1) >> chunkBits
	sp := v.sp.Load()
	if used < len(sp.chunks) && sp.chunk(used) != nil {
		v.ownSpine(w).chunks[used].Store(nil)
	}
	if used*4 < len(sp.chunks) {
		v.sp.Store(v.sp.Load().resized(max(1, used*2), w.now))
	}
}
