// Package lister reads an informer's store the way generated listers do: by labels, namespace and name, with NotFound
// errors. [glasswatch/sharedinformer.Informer.Lister] makes one. A learner of the informer may skip it.
package lister

import (
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/indexer"
	"glasswatch/listwatch"
)

// NamespaceIndex is the name of the index by namespace that every informer has.
const NamespaceIndex = "namespace"

// Lister reads a store. Every List is one moment of the store and holds up no writer. The objects are shared and must
// not be modified; the slices are the caller's.
type Lister[T listwatch.Object] struct {
	store    *indexer.Store[listwatch.Key, T]
	resource schema.GroupResource
}

// Namespace is a Lister of one namespace.
type Namespace[T listwatch.Object] struct {
	lister    Lister[T]
	namespace string
}

// New returns a lister on a store. resource is what its NotFound errors name. If it is empty, they name the plural of
// T's name, without a group.
func New[T listwatch.Object](store *indexer.Store[listwatch.Key, T], resource schema.GroupResource) Lister[T] {
	if resource.Empty() {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: KindOf[T]()})
		resource = plural.GroupResource()
	}
	return Lister[T]{store: store, resource: resource}
}

// KindOf is T's name without its package and pointer: Service for *corev1.Service.
func KindOf[T listwatch.Object]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// List returns the objects of all namespaces whose labels match; a nil selector matches all. The order is unspecified.
// The error is always nil; it is there for the sake of generated code that expects one.
func (l Lister[T]) List(selector labels.Selector) ([]T, error) { return l.Namespace("").List(selector) }

// Get returns the object of cluster scope of that name, or an error that apierrors.IsNotFound knows.
func (l Lister[T]) Get(name string) (T, error) { return l.Namespace("").Get(name) }

// Namespace returns the lister of one namespace; that of "" lists all and gets objects of cluster scope.
func (l Lister[T]) Namespace(namespace string) Namespace[T] {
	return Namespace[T]{lister: l, namespace: namespace}
}

// List returns the namespace's objects whose labels match; a nil selector matches all. The order is unspecified. It
// looks at the namespace's objects only. If the store has no [NamespaceIndex], it looks at all of them. The error is
// always nil.
func (n Namespace[T]) List(selector labels.Selector) ([]T, error) {
	everything := selector == nil || selector.Empty()
	matches := func(obj T) bool { return everything || selector.Matches(labels.Set(obj.GetLabels())) }
	if n.namespace != "" {
		out, err := n.lister.store.ByIndex(NamespaceIndex, n.namespace)
		if err != nil {
			out = n.lister.store.List()
		}
		others := func(obj T) bool { return obj.GetNamespace() != n.namespace || !matches(obj) }
		return slices.DeleteFunc(out, others), nil
	}
	if everything {
		return n.lister.store.List(), nil
	}
	out := []T{}
	for _, obj := range n.lister.store.All() {
		if matches(obj) {
			out = append(out, obj)
		}
	}
	return out, nil
}

// Get returns the namespace's object of that name, or an error that apierrors.IsNotFound knows.
func (n Namespace[T]) Get(name string) (T, error) {
	obj, ok := n.lister.store.GetByKey(listwatch.Key{Namespace: n.namespace, Name: name})
	if !ok {
		return obj, apierrors.NewNotFound(n.lister.resource, name)
	}
	return obj, nil
}
