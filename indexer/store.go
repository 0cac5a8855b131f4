// Package indexer is a thread-safe store with indices and snapshots.
package indexer

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// IndexFunc appends to dst the values obj is filed under in one index.
type IndexFunc[T any] func(obj T, dst []string) ([]string, error)

// Indexers maps the name of an index to its function.
type Indexers[T any] map[string]IndexFunc[T]

// Options configures a Store.
type Options[K comparable, T any] struct {
	KeyFunc  func(obj T) (K, error)
	Compare  func(a, b K) int
	Indexers Indexers[T]
	OnError  func(key K, err error)
}

// Op is one write of a transaction.
type Op[K comparable, T any] struct {
	Key     K
	Obj     T
	Delete  bool
	Old     T
	Existed bool
}

// Store is a thread-safe map from keys to objects.
type Store[K comparable, T any] struct {
	opts Options[K, T]

	mu       sync.RWMutex
	items    map[K]T
	indexers Indexers[T]
	rv       string
}

// New returns an empty store.
func New[K comparable, T any](opts Options[K, T]) *Store[K, T] {
	ix := maps.Clone(opts.Indexers)
	if ix == nil {
		ix = Indexers[T]{}
	}
	return &Store[K, T]{opts: opts, items: map[K]T{}, indexers: ix}
}

// Add stores obj.
func (s *Store[K, T]) Add(obj T) error {
	key, err := s.opts.KeyFunc(obj)
	if err != nil {
		return err
	}
	s.Apply([]Op[K, T]{{Key: key, Obj: obj}}, "")
	return nil
}

// Update stores obj.
func (s *Store[K, T]) Update(obj T) error { return s.Add(obj) }

// Delete removes the object with obj's key.
func (s *Store[K, T]) Delete(obj T) error {
	key, err := s.opts.KeyFunc(obj)
	if err != nil {
		return err
	}
	s.DeleteKey(key)
	return nil
}

// DeleteKey removes the object under key.
func (s *Store[K, T]) DeleteKey(key K) {
	s.Apply([]Op[K, T]{{Key: key, Delete: true}}, "")
}

// Replace makes objs the content of the store.
func (s *Store[K, T]) Replace(objs []T, resourceVersion string) error {
	var errs []error
	m := make(map[K]T, len(objs))
	for _, o := range objs {
		k, err := s.opts.KeyFunc(o)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m[k] = o
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items, s.rv = m, resourceVersion
	return errors.Join(errs...)
}

// Apply runs ops as one transaction.
func (s *Store[K, T]) Apply(ops []Op[K, T], resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ops {
		op := &ops[i]
		op.Old, op.Existed = s.items[op.Key]
		if op.Delete {
			delete(s.items, op.Key)
		} else {
			s.items[op.Key] = op.Obj
		}
	}
	if resourceVersion != "" {
		s.rv = resourceVersion
	}
}

// Bookmark sets the resourceVersion.
func (s *Store[K, T]) Bookmark(resourceVersion string) { s.Apply(nil, resourceVersion) }

// ResourceVersion returns the store's resourceVersion.
func (s *Store[K, T]) ResourceVersion() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rv
}

// AddIndexers adds indices.
func (s *Store[K, T]) AddIndexers(add Indexers[T]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range add {
		if _, ok := s.indexers[name]; ok {
			return fmt.Errorf("indexer: index %q exists already", name)
		}
	}
	s.indexers = maps.Clone(s.indexers)
	maps.Copy(s.indexers, add)
	return nil
}

// RemoveIndexers removes indices.
func (s *Store[K, T]) RemoveIndexers(names ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if _, ok := s.indexers[name]; !ok {
			return fmt.Errorf("indexer: no index %q", name)
		}
	}
	s.indexers = maps.Clone(s.indexers)
	for _, name := range names {
		delete(s.indexers, name)
	}
	return nil
}

// Get returns the stored object with obj's key.
func (s *Store[K, T]) Get(obj T) (T, bool, error) {
	key, err := s.opts.KeyFunc(obj)
	if err != nil {
		var zero T
		return zero, false, err
	}
	o, ok := s.GetByKey(key)
	return o, ok, nil
}

// GetByKey returns the object under key.
func (s *Store[K, T]) GetByKey(key K) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.items[key]
	return o, ok
}

// List returns all objects.
func (s *Store[K, T]) List() []T {
	var out []T
	for _, o := range s.Snapshot().All() {
		out = append(out, o)
	}
	return out
}

// ListKeys returns all keys.
func (s *Store[K, T]) ListKeys() []K {
	var out []K
	for k := range s.Snapshot().All() {
		out = append(out, k)
	}
	return out
}

// Len returns the number of objects.
func (s *Store[K, T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.items)
}

// GetIndexers returns the indexers.
func (s *Store[K, T]) GetIndexers() Indexers[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.indexers)
}

// Index returns the objects that share a value with obj in the index.
func (s *Store[K, T]) Index(name string, obj T) ([]T, error) {
	fn := s.GetIndexers()[name]
	if fn == nil {
		return nil, fmt.Errorf("indexer: no index %q", name)
	}
	values, err := fn(obj, nil)
	if err != nil {
		return nil, err
	}
	var out []T
	for _, o := range s.Snapshot().All() {
		vs, err := fn(o, nil)
		if err == nil && slices.ContainsFunc(vs, func(v string) bool { return slices.Contains(values, v) }) {
			out = append(out, o)
		}
	}
	return out, nil
}

// ByIndex returns the objects filed under value.
func (s *Store[K, T]) ByIndex(name, value string) ([]T, error) {
	seq, err := s.Snapshot().ByIndex(name, value)
	if err != nil {
		return nil, err
	}
	var out []T
	for _, o := range seq {
		out = append(out, o)
	}
	return out, nil
}

// IndexKeys returns the keys filed under value.
func (s *Store[K, T]) IndexKeys(name, value string) ([]K, error) {
	seq, err := s.Snapshot().ByIndex(name, value)
	if err != nil {
		return nil, err
	}
	var out []K
	for k := range seq {
		out = append(out, k)
	}
	if s.opts.Compare != nil {
		slices.SortFunc(out, s.opts.Compare)
	}
	return out, nil
}

// ListIndexValues returns the values of an index.
func (s *Store[K, T]) ListIndexValues(name string) []string {
	fn := s.GetIndexers()[name]
	if fn == nil {
		return nil
	}
	set := map[string]bool{}
	for _, o := range s.Snapshot().All() {
		vs, _ := fn(o, nil)
		for _, v := range vs {
			set[v] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Snapshot is the store at one moment.
type Snapshot[K comparable, T any] struct {
	items    map[K]T
	indexers Indexers[T]
	rv       string
}

// Snapshot returns the store as it is now.
func (s *Store[K, T]) Snapshot() Snapshot[K, T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Snapshot[K, T]{items: maps.Clone(s.items), indexers: s.indexers, rv: s.rv}
}

// Len returns the number of objects.
func (s Snapshot[K, T]) Len() int { return len(s.items) }

// All iterates over all objects.
func (s Snapshot[K, T]) All() iter.Seq2[K, T] { return maps.All(s.items) }

// Get returns the object under key.
func (s Snapshot[K, T]) Get(key K) (T, bool) { o, ok := s.items[key]; return o, ok }

// ResourceVersion returns the store's resourceVersion at the snapshot's moment.
func (s Snapshot[K, T]) ResourceVersion() string { return s.rv }

// ByIndex iterates over the objects filed under value.
func (s Snapshot[K, T]) ByIndex(name, value string) (iter.Seq2[K, T], error) {
	fn := s.indexers[name]
	if fn == nil {
		return nil, fmt.Errorf("indexer: no index %q", name)
	}
	return func(yield func(K, T) bool) {
		for k, o := range s.items {
			vs, err := fn(o, nil)
			if err == nil && slices.Contains(vs, value) && !yield(k, o) {
				return
			}
		}
	}, nil
}
