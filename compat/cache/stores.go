package cache

import (
	"fmt"
	"reflect"
	"strings"

	"glasswatch/indexer"
	"glasswatch/listwatch"
)

// StoreOption is an option of NewStore and NewIndexer.
type StoreOption = func(*storeOptions)

type storeOptions struct {
	transform TransformFunc
	metrics   storeMetrics
}

// storeMetrics is the target of a store's metrics. The zero value drops them.
type storeMetrics struct {
	identifier InformerNameAndResource
	provider   InformerMetricsProvider
}

func (m storeMetrics) version() *versionMetric { return newVersionMetric(m.identifier, m.provider) }

// WithTransformer makes a store call transformer on every object of Add, Update and Replace. If it fails, the write
// returns its error and changes nothing.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(o *storeOptions) { o.transform = transformer }
}

// WithStoreMetrics makes a store report its resourceVersion under identifier. A nil provider is the global one.
func WithStoreMetrics(identifier InformerNameAndResource, metrics InformerMetricsProvider) StoreOption {
	return func(o *storeOptions) { o.metrics = storeMetrics{identifier: identifier, provider: metrics} }
}

// NewStore returns an empty store of objects that keyFunc names. It is a TransactionStore, too.
func NewStore(keyFunc KeyFunc, opts ...StoreOption) Store {
	return NewIndexer(keyFunc, Indexers{}, opts...)
}

// NewIndexer returns an empty store with indices. It is a TransactionStore, too. The caller keeps the map of indexers.
func NewIndexer(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) Indexer {
	var o storeOptions
	for _, opt := range opts {
		opt(&o)
	}
	s := newStringStore(keyFunc, indexers)
	s.transform = o.transform
	s.version = o.metrics.version()
	return s
}

func newStringStore(keyFunc KeyFunc, indexers Indexers) *indexStore[string, any] {
	sh := stringShape(keyFunc)
	options := indexer.Options[string, any]{
		Indexers: nativeIndexers[any](indexers),
		OnError:  reportIndexFailure(sh.format),
	}
	return newIndexStore(indexer.New(options), sh, indexers)
}

// stringShape is for stores that have client-go's shape already.
func stringShape(keyFunc KeyFunc) shape[string, any] {
	return shape[string, any]{
		keyOf:  keyFunc,
		parse:  func(s string) (string, bool) { return s, true },
		format: func(key string) string { return key },
		object: func(obj any) (any, error) { return obj, nil },
	}
}

// nameShape is for an informer's store. Objects, tombstones and ExplicitKeys have the keys that
// DeletionHandlingMetaNamespaceKeyFunc gives them.
func nameShape[T any]() shape[listwatch.Key, T] {
	return shape[listwatch.Key, T]{
		keyOf: func(obj any) (listwatch.Key, error) {
			if d, ok := obj.(DeletedFinalStateUnknown); ok {
				obj = ExplicitKey(d.Key)
			}
			if key, ok := obj.(ExplicitKey); ok {
				name, ok := parseName(string(key))
				if !ok {
					return name, fmt.Errorf("unexpected key format: %q", key)
				}
				return name, nil
			}
			name, err := ObjectToName(obj)
			return name.AsNamespacedName(), err
		},
		parse:  parseName,
		format: func(key listwatch.Key) string { return NamespacedNameAsObjectName(key).String() },
		object: func(obj any) (T, error) {
			t, ok := obj.(T)
			if !ok {
				return t, fmt.Errorf("the store holds %v, not %T", reflect.TypeFor[T](), obj)
			}
			return t, nil
		},
	}
}

// parseName splits a key at its first slash: the inverse of ObjectName.String. No name prints as a string that begins
// with a slash.
func parseName(key string) (listwatch.Key, bool) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return listwatch.Key{Name: key}, true
	}
	return listwatch.Key{Namespace: namespace, Name: name}, namespace != ""
}
