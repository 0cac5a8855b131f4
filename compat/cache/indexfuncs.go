package cache

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/indexer"
)

// MetaNamespaceIndexFunc files an object under its namespace. It is an error if obj has no metadata.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return []string{""}, fmt.Errorf("object has no meta: %w", err)
	}
	return []string{accessor.GetNamespace()}, nil
}

// nativeIndexers turns client-go's index functions into the layer's.
func nativeIndexers[T any](indexers Indexers) indexer.Indexers[T] {
	native := make(indexer.Indexers[T], len(indexers))
	for name, f := range indexers {
		if isMetaNamespaceIndexFunc(f) {
			native[name] = appendNamespace[T]
			continue
		}
		native[name] = func(obj T, dst []string) ([]string, error) {
			values, err := f(obj)
			return append(dst, values...), err
		}
	}
	return native
}

// isMetaNamespaceIndexFunc recognises MetaNamespaceIndexFunc, this package's or client-go's. Nearly every store has it,
// and a write need not allocate its result then. Neither function is generic, so each has code of its own.
func isMetaNamespaceIndexFunc(f IndexFunc) bool {
	code := reflect.ValueOf(f).Pointer()
	return code == reflect.ValueOf(MetaNamespaceIndexFunc).Pointer() || code == reflect.ValueOf(clientgo.MetaNamespaceIndexFunc).Pointer()
}

// appendNamespace is MetaNamespaceIndexFunc with the signature of the layer's index functions.
func appendNamespace[T any](obj T, dst []string) ([]string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return dst, fmt.Errorf("object has no meta: %w", err)
	}
	return append(dst, accessor.GetNamespace()), nil
}

// IndexFuncToKeyFuncAdapter makes the value of an index function the key. It is an error if there is not exactly one.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return func(obj any) (string, error) {
		values, err := indexFunc(obj)
		switch {
		case err != nil:
			return "", err
		case len(values) == 0:
			return "", fmt.Errorf("an object without an index value has no key")
		case len(values) > 1:
			return "", fmt.Errorf("too many keys: %v", values)
		}
		return values[0], nil
	}
}

// TypedIndexersToIndexers is TypedIndexerFuncToIndexerFunc for a map of functions.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	untyped := make(Indexers, len(indexers))
	for name, f := range indexers {
		untyped[name] = TypedIndexerFuncToIndexerFunc(f)
	}
	return untyped
}

// TypedIndexerFuncToIndexerFunc lets a store call indexer. For an object that is not a T the function fails: the object
// is stored but missing from the index.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return func(obj any) ([]string, error) {
		t, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("the index function wants %v, not %T", reflect.TypeFor[T](), obj)
		}
		return indexer(t)
	}
}
