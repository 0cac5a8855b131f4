package cache

import (
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"

	"glasswatch/indexer"
)

// indexStore shows an indexer.Store as client-go's Indexer.
//
//	client-go's world                          glasswatch's
//
//	object any      ──shape.keyOf, object──▶   K, T
//	key string      ──shape.parse──────────▶   K
//	[]any, []string ◀──shape.format────────    []T, []K
//
// All methods may be called from any goroutine.
type indexStore[K comparable, T any] struct {
	shape shape[K, T]
	store *indexer.Store[K, T]
	// transform changes the objects of Add, Update and Replace. May be nil.
	transform TransformFunc
	// version shows the store's resourceVersion. May be nil.
	version *versionMetric

	adding sync.Mutex // serialises AddIndexers and RemoveIndexers
	// indexers are the functions as they were given. The map is replaced, never changed.
	indexers atomic.Pointer[Indexers]
}

// shape translates objects and keys between the two sides of an indexStore.
type shape[K comparable, T any] struct {
	// keyOf returns the key of an object, an ExplicitKey or a tombstone, as the Store's users see it.
	keyOf func(obj any) (K, error)
	// parse is the inverse of format; false if no key prints as s.
	parse  func(s string) (K, bool)
	format func(key K) string
	// object is obj as the store holds it; an error if it is of the wrong type.
	object func(obj any) (T, error)
}

// newIndexStore shows store, which was made with nativeIndexers(indexers), as an Indexer.
func newIndexStore[K comparable, T any](store *indexer.Store[K, T], shape shape[K, T], indexers Indexers) *indexStore[K, T] {
	s := &indexStore[K, T]{shape: shape, store: store}
	s.setIndexers(indexers)
	return s
}

// reportIndexFailure returns an OnError for the stores behind indexStores.
func reportIndexFailure[K comparable](format func(K) string) func(key K, err error) {
	return func(key K, err error) {
		utilruntime.HandleError(fmt.Errorf("object %q is missing from an index: %w", format(key), err))
	}
}

// prepare returns the key of obj, and obj after the transform.
func (s *indexStore[K, T]) prepare(obj any) (key K, stored T, err error) {
	if key, err = s.shape.keyOf(obj); err != nil {
		return key, stored, KeyError{Obj: obj, Err: err}
	}
	stored, err = s.toStore(obj)
	return key, stored, err
}

func (s *indexStore[K, T]) toStore(obj any) (stored T, err error) {
	if s.transform != nil {
		if obj, err = s.transform(obj); err != nil {
			return stored, fmt.Errorf("transforming: %w", err)
		}
	}
	return s.shape.object(obj)
}

// Add stores obj, transformed, under its key. Its resourceVersion becomes the store's.
func (s *indexStore[K, T]) Add(obj any) error {
	key, stored, err := s.prepare(obj)
	if err == nil {
		s.apply([]indexer.Op[K, T]{{Key: key, Obj: stored}}, versionOf(stored))
	}
	return err
}

// Update is Add.
func (s *indexStore[K, T]) Update(obj any) error { return s.Add(obj) }

// Delete removes the object with obj's key, if there is one. obj's resourceVersion becomes the store's.
func (s *indexStore[K, T]) Delete(obj any) error {
	key, err := s.shape.keyOf(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	s.apply([]indexer.Op[K, T]{{Key: key, Delete: true}}, versionOf(obj))
	return nil
}

// Replace makes list the whole content. If one of its objects has no key, or a transform fails, nothing changes.
func (s *indexStore[K, T]) Replace(list []any, resourceVersion string) error {
	keys, objs := make([]K, len(list)), make([]T, len(list))
	for i, obj := range list {
		var err error
		if keys[i], objs[i], err = s.prepare(obj); err != nil {
			return err
		}
	}
	s.store.ReplaceKeyed(keys, objs, resourceVersion)
	s.showVersion()
	return nil
}

// Transaction makes all writes whose objects have keys. Readers see them as one step. Objects are not transformed.
func (s *indexStore[K, T]) Transaction(txns ...Transaction) *TransactionError {
	ops := make([]indexer.Op[K, T], 0, len(txns))
	failed := &TransactionError{TotalTransactions: len(txns), SuccessfulIndices: []int{}}
	version := ""
	for i, txn := range txns {
		op, err := s.operation(txn)
		if err != nil {
			failed.Errors = append(failed.Errors, err)
			continue
		}
		failed.SuccessfulIndices = append(failed.SuccessfulIndices, i)
		ops = append(ops, op)
		version = versionOf(txn.Object)
	}
	if len(ops) > 0 {
		s.apply(ops, version)
	}
	if len(failed.Errors) > 0 {
		return failed
	}
	return nil
}

func (s *indexStore[K, T]) operation(txn Transaction) (op indexer.Op[K, T], err error) {
	if op.Key, err = s.shape.keyOf(txn.Object); err != nil {
		return op, KeyError{Obj: txn.Object, Err: err}
	}
	switch txn.Type {
	case TransactionTypeDelete:
		op.Delete = true
	case TransactionTypeAdd, TransactionTypeUpdate:
		op.Obj, err = s.shape.object(txn.Object)
	default:
		err = fmt.Errorf("unknown type of transaction: %q", txn.Type)
	}
	return op, err
}

func (s *indexStore[K, T]) apply(ops []indexer.Op[K, T], version string) {
	s.store.Apply(ops, version)
	if version != "" {
		s.showVersion()
	}
}

func (s *indexStore[K, T]) showVersion() { s.version.update(s.store.ResourceVersion) }

// Get returns the stored object that has obj's key.
func (s *indexStore[K, T]) Get(obj any) (item any, exists bool, err error) {
	key, err := s.shape.keyOf(obj)
	if err != nil {
		return nil, false, KeyError{Obj: obj, Err: err}
	}
	item, exists = s.get(key)
	return item, exists, nil
}

// GetByKey returns the object under key. The error is always nil.
func (s *indexStore[K, T]) GetByKey(key string) (item any, exists bool, err error) {
	if k, ok := s.shape.parse(key); ok {
		item, exists = s.get(k)
	}
	return item, exists, nil
}

func (s *indexStore[K, T]) get(key K) (any, bool) {
	if obj, ok := s.store.GetByKey(key); ok {
		return obj, true
	}
	return nil, false
}

// List returns all objects, in no particular order.
func (s *indexStore[K, T]) List() []any { return anys(s.store.List()) }

// ListKeys returns all keys, in no particular order.
func (s *indexStore[K, T]) ListKeys() []string { return s.formatAll(s.store.ListKeys()) }

// LastStoreSyncResourceVersion returns the resourceVersion that the store has reached. It returns "" if client-go's
// gate AtomicFIFO is off, for then deltas do not come in the order of versions.
func (s *indexStore[K, T]) LastStoreSyncResourceVersion() string {
	if !features.FeatureGates().Enabled(features.AtomicFIFO) {
		return ""
	}
	return s.store.ResourceVersion()
}

// Bookmark sets the store's resourceVersion; an empty one is ignored.
func (s *indexStore[K, T]) Bookmark(resourceVersion string) {
	s.store.Bookmark(resourceVersion)
	if resourceVersion != "" {
		s.showVersion()
	}
}

// Resync does nothing.
func (s *indexStore[K, T]) Resync() error { return nil }

func (s *indexStore[K, T]) formatAll(keys []K) []string {
	if names, ok := any(keys).([]string); ok {
		return names
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = s.shape.format(key)
	}
	return names
}

func anys[T any](objs []T) []any {
	if list, ok := any(objs).([]any); ok {
		return list
	}
	list := make([]any, len(objs))
	for i, obj := range objs {
		list[i] = obj
	}
	return list
}

// versionOf returns obj's resourceVersion, or "" if it has none.
func versionOf(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}
