// Package ttlstore is a map whose objects expire some time after they were written.
//
//	Add, Replace ──▶ | oldest | … | youngest |──▶ GetByKey, List
//	                     └─▶ dropped by the next call, once it is older than the TTL
//
// It has the methods of an indexer.Store, without indices and snapshots.
//
// # Guarantees
//
//   - An object that has expired is never seen. An object is still there at the age of the TTL.
//   - The memory is bounded by what was written within one TTL before the last call.
//   - No goroutine runs, and no lock is held while KeyFunc or Compare run.
//
// # Not guaranteed
//
// That the memory follows while nobody calls: a store that is not called keeps what it has.
package ttlstore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"glasswatch/indexer/internal/aging"
)

// Options configures a Store.
type Options[K comparable, T any] struct {
	// KeyFunc gives the key of an object. Required.
	KeyFunc func(obj T) (K, error)
	// TTL is how long an object stays after it was last written; it is still there at that age. Zero or less: for ever.
	TTL time.Duration
	// Compare orders ListKeys; nil gives the order of writing, the oldest first.
	Compare func(a, b K) int
}

// Store is a map whose objects expire. Each call first drops what is due by then, the oldest first.
//
// All methods may be called from any goroutine. None blocks for longer than others take.
type Store[K comparable, T any] struct {
	opts Options[K, T]

	mu   sync.Mutex // guards all below
	objs *aging.Map[K, T]
	rv   string
}

// New returns an empty store.
func New[K comparable, T any](opts Options[K, T]) *Store[K, T] {
	return &Store[K, T]{opts: opts, objs: aging.New[K, T](opts.TTL, 0)}
}

// lock returns the unlock function.
func (s *Store[K, T]) lock() (unlock func()) {
	s.mu.Lock()
	s.objs.Expire()
	return s.mu.Unlock
}

// Add stores obj under its key, in place of what was there, for one TTL from now. If KeyFunc fails, that is the error.
func (s *Store[K, T]) Add(obj T) error {
	key, err := s.opts.KeyFunc(obj)
	if err == nil {
		defer s.lock()()
		s.objs.Set(key, obj)
	}
	return err
}

// Update is Add: the object's time begins anew.
func (s *Store[K, T]) Update(obj T) error { return s.Add(obj) }

// Delete removes what is stored under obj's key, if anything. The error is KeyFunc's.
func (s *Store[K, T]) Delete(obj T) error {
	key, err := s.opts.KeyFunc(obj)
	if err == nil {
		s.DeleteKey(key)
	}
	return err
}

// DeleteKey removes what is stored under key, if anything.
func (s *Store[K, T]) DeleteKey(key K) {
	defer s.lock()()
	s.objs.Remove(key)
}

// Replace makes objs the whole content of the store, for one TTL from now, and resourceVersion its version. Of objects
// with the same key the last counts. Objects without a key are left out; the error joins one error for each of them.
func (s *Store[K, T]) Replace(objs []T, resourceVersion string) error {
	var errs []error
	fresh := aging.New[K, T](s.opts.TTL, 0)
	for i, obj := range objs {
		if key, err := s.opts.KeyFunc(obj); err != nil {
			errs = append(errs, fmt.Errorf("object %d of %d has no key: %w", i, len(objs), err))
		} else {
			fresh.Set(key, obj)
		}
	}
	defer s.lock()()
	s.objs, s.rv = fresh, resourceVersion
	return errors.Join(errs...)
}

// Get returns the stored object that has obj's key, unless it has expired. The error is KeyFunc's.
func (s *Store[K, T]) Get(obj T) (stored T, ok bool, err error) {
	key, err := s.opts.KeyFunc(obj)
	if err == nil {
		stored, ok = s.GetByKey(key)
	}
	return stored, ok, err
}

// GetByKey returns the object under key, unless it has expired.
func (s *Store[K, T]) GetByKey(key K) (obj T, ok bool) {
	defer s.lock()()
	if e := s.objs.Get(key); e != nil {
		return e.Value, true
	}
	return obj, false
}

// Len returns the number of objects that have not expired.
func (s *Store[K, T]) Len() int {
	defer s.lock()()
	return s.objs.Len()
}

// List returns the objects that have not expired, the oldest first. The slice is the caller's.
func (s *Store[K, T]) List() []T {
	defer s.lock()()
	list := make([]T, 0, s.objs.Len())
	for e := range s.objs.All() {
		list = append(list, e.Value)
	}
	return list
}

// ListKeys returns the keys of the objects that have not expired. The slice is the caller's.
func (s *Store[K, T]) ListKeys() []K {
	unlock := s.lock()
	keys := make([]K, 0, s.objs.Len())
	for e := range s.objs.All() {
		keys = append(keys, e.Key)
	}
	unlock()
	if s.opts.Compare != nil {
		slices.SortFunc(keys, s.opts.Compare)
	}
	return keys
}

// Bookmark sets the store's resourceVersion; an empty one leaves it.
func (s *Store[K, T]) Bookmark(resourceVersion string) {
	defer s.lock()()
	s.rv = cmp.Or(resourceVersion, s.rv)
}

// ResourceVersion returns the version that the last Replace or Bookmark named.
func (s *Store[K, T]) ResourceVersion() string {
	defer s.lock()()
	return s.rv
}
