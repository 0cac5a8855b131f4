package indexer

import (
	"sync/atomic"
	"unsafe"
)

// places is what lookups read while they take no lock: in which slot each key is. Nobody writes to what it holds, and it holds
// for as long as no object is added or deleted. What is in the slots may change meanwhile, if objects are pointers.
//
//	a writer                                    a lookup without a lock
//
//	one update:  copy the chunk if it is shared load turn; if it is odd, take the lock instead
//	             store the pointer              load resting, and find the slot there
//	all else:    make turn odd                  load the pointer
//	             if objects move, resting = nil load turn; if it has changed, take the lock instead
//	             copy chunks, store pointers
//	             make turn even
//
// So a lookup that has gone on with old places, or has met a part of a transaction, throws away what it has loaded. What it finds
// in places themselves, that there is no such key or an object that is no pointer, was so when it loaded resting: that is
// withdrawn before anything moves.
type places[K comparable, T any] struct {
	keys *spine[K]
	dir  *directory
	objs *spine[T] // of the same moment; nil: the store's, as they are now
}

const (
	// restAfter is about how many lookups there must be in which no object is moved before they go to a snapshot: by then
	// their locks have cost as much as the snapshot does, together with the copy of a chunk at the next write.
	restAfter = 128
	// countEvery is how many lookups in a stripe are counted at a time. A count of each would be what they wait for.
	countEvery = 8
)

// rest lets lookups go without a lock, by a snapshot of the present, which nobody gives back: entering and leaving it would
// cost what a stripe costs. It waits for no writer: what that one does may end it at once.
func (s *Store[K, T]) rest() {
	var fresh *root[K, T]
	if s.published.Load() == nil {
		fresh = newRoot[K, T](len(*s.defs.Load())) // before the lock is taken, as in acquire
	}
	if !s.mu.TryLock() {
		s.lookups.Store(0) // it may be long at work: not again at once
		return
	}
	defer s.mu.Unlock()
	s.lookups.Store(0)
	r := s.published.Load()
	switch {
	case s.resting.Load() != nil || r == nil && fresh == nil:
		return // somebody else was quicker, or a write came between
	case r == nil:
		r = s.freezeLocked(fresh)
	}
	r.pin.enter(settler)
	p := &places[K, T]{keys: r.keys, dir: r.dir}
	switch {
	case !s.pointers:
		p.objs = r.objs
	case !s.objs.cells:
		s.makeCellsLocked()
	}
	s.resting.Store(p)
}

// lookup looks key up without a lock, where p says. It is not sure of what it returns if turn is not the turn any more.
func (s *Store[K, T]) lookup(p *places[K, T], turn uint64, key K, tag uint32) (obj T, ok, sure bool) {
	slot, ok := find(p.dir, p.keys, key, tag)
	if !ok {
		return obj, false, true
	}
	if p.objs != nil {
		return *p.objs.at(slot), true, true
	}
	at := s.objs.sp.Load().ifAny(slot)
	if at == nil {
		return obj, false, false
	}
	obj = loadCell(at)
	return obj, true, s.turn.Load() == turn
}

// disturbLocked makes lookups take locks until the write is committed, for it changes more than the object under one key.
func (s *Store[K, T]) disturbLocked() {
	if !s.disturbed && s.resting.Load() != nil {
		s.turn.Add(1)
		s.disturbed = true
	}
}

// moveLocked makes lookups take locks for some time, as objects are about to change their places.
func (s *Store[K, T]) moveLocked() {
	s.disturbLocked()
	if s.resting.Load() != nil {
		s.resting.Store(nil)
	}
	if s.lookups.Load() != 0 {
		s.lookups.Store(0)
	}
}

// makeCellsLocked lets lookups without a lock load objects, from here on. A store in which nobody looks up often does not pay
// for that.
func (s *Store[K, T]) makeCellsLocked() {
	s.lockAllStripesLocked()
	s.objs.cells = true
	s.unlockStripesLocked()
}

// storeCell stores a pointer where lookups may be loading it.
func storeCell[T any](at *T, pointer T) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(at)), *(*unsafe.Pointer)(unsafe.Pointer(&pointer)))
}

// swapCell is storeCell, and returns what was there.
func swapCell[T any](at *T, pointer T) T {
	old := atomic.SwapPointer((*unsafe.Pointer)(unsafe.Pointer(at)), *(*unsafe.Pointer)(unsafe.Pointer(&pointer)))
	return *(*T)(unsafe.Pointer(&old))
}

// loadCell loads a pointer that a writer may be storing.
func loadCell[T any](at *T) T {
	pointer := atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(at)))
	return *(*T)(unsafe.Pointer(&pointer))
}
