package indexer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// TTLOptions configures a TTLStore.
type TTLOptions[K comparable, T any] struct {
	// KeyFunc gives the key of an object. Required.
	KeyFunc func(obj T) (K, error)
	// TTL is how long an object stays after it was last written; it is still there at that age. Zero or less: for ever.
	TTL time.Duration
	// Compare orders ListKeys; nil gives the order of writing, the oldest first.
	Compare func(a, b K) int
}

// TTLStore is a map whose objects expire. Nothing runs in the background: each call first drops what is due by then, the
// oldest first. So an expired object is never seen, and the store holds no more than what was written within one TTL before
// the last call. A store that nobody calls keeps what it has.
//
// All methods may be called from any goroutine. None blocks for longer than others take.
type TTLStore[K comparable, T any] struct {
	keyFunc func(T) (K, error)
	compare func(a, b K) int

	mu   sync.Mutex // guards all below
	objs *aging[K, T]
	rv   string
}

// NewTTLStore returns an empty store.
func NewTTLStore[K comparable, T any](opts TTLOptions[K, T]) *TTLStore[K, T] {
	return &TTLStore[K, T]{keyFunc: opts.KeyFunc, compare: opts.Compare, objs: newAging[K, T](opts.TTL, 0)}
}

// lock returns the unlock function.
func (s *TTLStore[K, T]) lock() (unlock func()) {
	s.mu.Lock()
	s.objs.expire()
	return s.mu.Unlock
}

// Add stores obj under its key, in place of what was there, for one TTL from now. The error is KeyFunc's; nothing is stored
// then.
func (s *TTLStore[K, T]) Add(obj T) error {
	key, err := s.keyFunc(obj)
	if err != nil {
		return err
	}
	defer s.lock()()
	s.objs.set(key, obj)
	return nil
}

// Update is Add: the object's time begins anew.
func (s *TTLStore[K, T]) Update(obj T) error { return s.Add(obj) }

// Delete removes what is stored under obj's key, if anything. The error is KeyFunc's.
func (s *TTLStore[K, T]) Delete(obj T) error {
	key, err := s.keyFunc(obj)
	if err != nil {
		return err
	}
	s.DeleteKey(key)
	return nil
}

// DeleteKey removes what is stored under key, if anything.
func (s *TTLStore[K, T]) DeleteKey(key K) {
	defer s.lock()()
	s.objs.remove(key)
}

// Replace makes objs the whole content of the store, for one TTL from now, and resourceVersion its version. Of objects with the
// same key the last counts. Objects without a key are left out; the error joins one error for each of them.
func (s *TTLStore[K, T]) Replace(objs []T, resourceVersion string) error {
	var errs []error
	keys, kept := make([]K, 0, len(objs)), make([]T, 0, len(objs))
	for i, obj := range objs {
		key, err := s.keyFunc(obj)
		if err != nil {
			errs = append(errs, fmt.Errorf("object %d of %d has no key: %w", i, len(objs), err))
			continue
		}
		keys, kept = append(keys, key), append(kept, obj)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objs.clear()
	for i, key := range keys {
		s.objs.set(key, kept[i])
	}
	s.rv = resourceVersion
	return errors.Join(errs...)
}

// Get returns the stored object that has obj's key, unless it has expired. The error is KeyFunc's.
func (s *TTLStore[K, T]) Get(obj T) (stored T, ok bool, err error) {
	key, err := s.keyFunc(obj)
	if err != nil {
		return stored, false, err
	}
	stored, ok = s.GetByKey(key)
	return stored, ok, nil
}

// GetByKey returns the object under key, unless it has expired.
func (s *TTLStore[K, T]) GetByKey(key K) (obj T, ok bool) {
	defer s.lock()()
	if e, ok := s.objs.byK[key]; ok {
		return e.value, true
	}
	return obj, false
}

// Len returns the number of objects that have not expired.
func (s *TTLStore[K, T]) Len() int {
	defer s.lock()()
	return len(s.objs.byK)
}

// List returns the objects that have not expired, the oldest first. The slice is the caller's.
func (s *TTLStore[K, T]) List() []T {
	defer s.lock()()
	list := make([]T, 0, len(s.objs.byK))
	for e := range s.objs.entries() {
		list = append(list, e.value)
	}
	return list
}

// ListKeys returns the keys of the objects that have not expired. The slice is the caller's.
func (s *TTLStore[K, T]) ListKeys() []K {
	unlock := s.lock()
	keys := make([]K, 0, len(s.objs.byK))
	for e := range s.objs.entries() {
		keys = append(keys, e.key)
	}
	unlock()
	if s.compare != nil {
		slices.SortFunc(keys, s.compare)
	}
	return keys
}

// Bookmark sets the store's resourceVersion; an empty one leaves it.
func (s *TTLStore[K, T]) Bookmark(resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv = cmp.Or(resourceVersion, s.rv)
}

// ResourceVersion returns the version that the last Replace or Bookmark named.
func (s *TTLStore[K, T]) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rv
}
