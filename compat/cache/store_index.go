package cache

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Index returns the objects filed under one of the values that the index function gives obj; each of them once. obj need
// not be of the store's type.
func (s *indexStore[K, T]) Index(indexName string, obj any) ([]any, error) {
	f := (*s.indexers.Load())[indexName]
	if f == nil {
		return nil, noIndex(indexName)
	}
	values, err := f(obj)
	if err != nil {
		return nil, err
	}
	objs, err := s.store.ByIndexValues(indexName, values)
	if err != nil {
		return nil, noIndex(indexName)
	}
	return anys(objs), nil
}

// ByIndex returns the objects filed under indexedValue, in no particular order.
func (s *indexStore[K, T]) ByIndex(indexName, indexedValue string) ([]any, error) {
	objs, err := s.store.ByIndex(indexName, indexedValue)
	if err != nil {
		return nil, noIndex(indexName)
	}
	return anys(objs), nil
}

// IndexKeys returns the keys of the objects filed under indexedValue, sorted.
func (s *indexStore[K, T]) IndexKeys(indexName, indexedValue string) ([]string, error) {
	keys, err := s.store.IndexKeys(indexName, indexedValue)
	if err != nil {
		return nil, noIndex(indexName)
	}
	names := s.formatAll(keys)
	slices.Sort(names) // the store's order, if it has one, is that of K
	return names, nil
}

// ListIndexFuncValues returns the values under which anything is filed, sorted; none, but not nil, if there is no such
// index.
func (s *indexStore[K, T]) ListIndexFuncValues(indexName string) []string {
	if values := s.store.ListIndexValues(indexName); values != nil {
		return values
	}
	return []string{}
}

// GetIndexers returns the index functions. The caller owns the map.
func (s *indexStore[K, T]) GetIndexers() Indexers {
	return cloneIndexers(*s.indexers.Load())
}

func cloneIndexers(indexers Indexers) Indexers {
	clone := make(Indexers, len(indexers))
	for name, f := range indexers {
		clone[name] = f
	}
	return clone
}

func (s *indexStore[K, T]) setIndexers(indexers Indexers) {
	clone := cloneIndexers(indexers)
	s.indexers.Store(&clone)
}

// AddIndexers adds indices, and files what the store holds. If one of the names is taken, nothing changes.
func (s *indexStore[K, T]) AddIndexers(newIndexers Indexers) error {
	s.adding.Lock()
	defer s.adding.Unlock()
	all := s.GetIndexers()
	if taken := sets.KeySet(all).Intersection(sets.KeySet(newIndexers)); len(taken) > 0 {
		return fmt.Errorf("indexer conflict: %v", taken)
	}
	if err := s.store.AddIndexers(nativeIndexers[T](newIndexers)); err != nil {
		return err
	}
	for name, f := range newIndexers {
		all[name] = f
	}
	s.setIndexers(all)
	return nil
}

// RemoveIndexers removes indices and frees their memory. If one of the names is unknown, nothing changes. client-go has
// no such method: assert interface{ RemoveIndexers(...string) error }.
func (s *indexStore[K, T]) RemoveIndexers(names ...string) error {
	s.adding.Lock()
	defer s.adding.Unlock()
	if err := s.store.RemoveIndexers(names...); err != nil {
		return err
	}
	left := s.GetIndexers()
	for _, name := range names {
		delete(left, name)
	}
	s.setIndexers(left)
	return nil
}

func noIndex(name string) error { return fmt.Errorf("Index with name %s does not exist", name) }
