package sharedinformer

import (
	"fmt"
	"maps"

	"glasswatch/indexer"
	"glasswatch/internal/keys"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer/lister"
)

// NamespaceIndex is the name of the index by namespace that every informer has. An index function of that name in
// Options takes its place.
const NamespaceIndex = lister.NamespaceIndex

// Lister reads an informer's store by labels, namespace and name.
type Lister[T listwatch.Object] = lister.Lister[T]

// newStore makes the store of an informer. indexFailed is told of objects that an index function fails on.
func newStore[T object](more indexer.Indexers[T], indexFailed func(key, error)) *indexer.Store[key, T] {
	indexers := indexer.Indexers[T]{NamespaceIndex: func(obj T, dst []string) ([]string, error) {
		return append(dst, obj.GetNamespace()), nil
	}}
	maps.Copy(indexers, more)
	return indexer.New(indexer.Options[key, T]{
		KeyFunc:  keyOf[T],
		Compare:  keys.Compare,
		Indexers: indexers,
		OnError:  indexFailed,
	})
}

func keyOf[T object](obj T) (key, error) { return listwatch.KeyOf(obj), nil }

// Store returns the informer's store. It is for reading only: handlers hear of nothing that others write to it.
func (i *Informer[T]) Store() *indexer.Store[listwatch.Key, T] { return i.store }

// Lister returns a lister on the informer's store. It stays usable when the informer has stopped.
func (i *Informer[T]) Lister() Lister[T] { return lister.New(i.store, i.opts.Resource) }

// AddIndexers adds indices to the store, before or while the informer runs. A name that exists is an error, as is a
// stopped informer, and nothing is changed. Objects that an index function fails on are reported to OnObjectError. While the
// functions are asked about what the store holds, readers go on and changes wait.
func (i *Informer[T]) AddIndexers(indexers indexer.Indexers[T]) error {
	if i.Stopped() {
		return fmt.Errorf("%s: indexers not added: %w", i.life.who, ErrStopped)
	}
	defer i.objectErrors.reportKept()
	return i.store.AddIndexers(indexers)
}
