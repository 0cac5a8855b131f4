package cache

import "glasswatch/indexer"

// ThreadSafeStoreOption is an option of NewThreadSafeStore.
type ThreadSafeStoreOption = func(*storeMetrics)

// WithThreadSafeStoreMetrics makes a store report its resourceVersion under identifier. A nil provider is the global
// one.
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, metricsProvider InformerMetricsProvider) ThreadSafeStoreOption {
	return func(m *storeMetrics) { *m = storeMetrics{identifier: identifier, provider: metricsProvider} }
}

// NewThreadSafeStore returns an empty store whose callers name the objects. It is a ThreadSafeStoreWithTransaction,
// too. The caller keeps the map of indexers. The indices are not used, for the store makes its own.
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	var m storeMetrics
	for _, opt := range opts {
		opt(&m)
	}
	s := newStringStore(nil, indexers)
	s.version = m.version()
	return &threadSafeStore{s}
}

// threadSafeStore is an indexStore whose callers give the keys: it has its own methods where a key is made.
type threadSafeStore struct{ *indexStore[string, any] }

var _ ThreadSafeStoreWithTransaction = (*threadSafeStore)(nil)

// Add stores obj under key. obj's resourceVersion becomes the store's.
func (s *threadSafeStore) Add(key string, obj any) {
	s.apply([]indexer.Op[string, any]{{Key: key, Obj: obj}}, versionOf(obj))
}

// Update is Add.
func (s *threadSafeStore) Update(key string, obj any) { s.Add(key, obj) }

// Delete removes the object under key, if there is one. The store's resourceVersion stays.
func (s *threadSafeStore) Delete(key string) { s.DeleteWithObject(key, nil) }

// DeleteWithObject removes the object under key, if there is one. obj's resourceVersion becomes the store's.
func (s *threadSafeStore) DeleteWithObject(key string, obj any) {
	s.apply([]indexer.Op[string, any]{{Key: key, Delete: true}}, versionOf(obj))
}

// Get returns the object under key.
func (s *threadSafeStore) Get(key string) (item any, exists bool) { return s.get(key) }

// Replace makes items the whole content. The caller keeps the map.
func (s *threadSafeStore) Replace(items map[string]any, resourceVersion string) {
	keys, objs := make([]string, 0, len(items)), make([]any, 0, len(items))
	for key, obj := range items {
		keys, objs = append(keys, key), append(objs, obj)
	}
	s.store.ReplaceKeyed(keys, objs, resourceVersion)
	s.showVersion()
}

// Transaction makes all writes; readers see them as one step. The store's resourceVersion becomes that of the last
// one's object.
func (s *threadSafeStore) Transaction(txns ...ThreadSafeStoreTransaction) {
	if len(txns) == 0 {
		return
	}
	ops := make([]indexer.Op[string, any], 0, len(txns))
	for _, txn := range txns {
		switch txn.Type {
		case TransactionTypeAdd, TransactionTypeUpdate:
			ops = append(ops, indexer.Op[string, any]{Key: txn.Key, Obj: txn.Object})
		case TransactionTypeDelete:
			ops = append(ops, indexer.Op[string, any]{Key: txn.Key, Delete: true})
		}
	}
	s.apply(ops, versionOf(txns[len(txns)-1].Object))
}
