package cache

import "fmt"

// NewTypedSharedIndexInformer returns informer with methods for objects of type T, which all its objects must be.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return typedInformer[T]{informer}
}

type typedInformer[T Object] struct{ SharedIndexInformer }

// AddTypedEventHandler adds a handler with options, of which there may be one at most.
func (i typedInformer[T]) AddTypedEventHandler(handler TypedResourceEventHandler[T], options ...HandlerOptions) (ResourceEventHandlerRegistration, error) {
	if len(options) > 1 {
		return nil, fmt.Errorf("at most one HandlerOptions may be passed, got %d", len(options))
	}
	return i.AddEventHandlerWithOptions(typedHandler[T]{handler}, append(options, HandlerOptions{})[0])
}

// AddTypedIndexers adds indices.
func (i typedInformer[T]) AddTypedIndexers(indexers TypedIndexers[T]) error {
	return i.AddIndexers(TypedIndexersToIndexers(indexers))
}

// GetTypedIndexer returns the informer's store.
func (i typedInformer[T]) GetTypedIndexer() TypedIndexer[T] {
	return typedIndexer[T]{i.GetIndexer()}
}

// typedHandler passes an untyped handler's events to a typed one.
type typedHandler[T Object] struct{ handler TypedResourceEventHandler[T] }

func (h typedHandler[T]) OnAdd(obj any, isInInitialList bool) {
	h.handler.OnAdd(obj.(T), isInInitialList)
}
func (h typedHandler[T]) OnUpdate(oldObj, newObj any) { h.handler.OnUpdate(oldObj.(T), newObj.(T)) }

func (h typedHandler[T]) OnDelete(obj any) {
	var d DeletedObject[T]
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		d.FinalStateUnknown = &tombstone
		obj = tombstone.Obj
	}
	if obj != nil {
		d.OptionalObj = obj.(T)
	}
	h.handler.OnDelete(d)
}

type typedIndexer[T any] struct{ Indexer }

func (i typedIndexer[T]) TypedIndex(indexName string, obj T) ([]T, error) {
	return typedList[T](i.Index(indexName, obj))
}

func (i typedIndexer[T]) ByTypedIndex(indexName, indexedValue string) ([]T, error) {
	return typedList[T](i.ByIndex(indexName, indexedValue))
}

func (i typedIndexer[T]) AddTypedIndexers(newIndexers TypedIndexers[T]) error {
	return i.AddIndexers(TypedIndexersToIndexers(newIndexers))
}

func typedList[T any](objs []any, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	typed := make([]T, len(objs))
	for i, obj := range objs {
		typed[i] = obj.(T)
	}
	return typed, nil
}
