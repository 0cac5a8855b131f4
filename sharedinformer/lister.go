package sharedinformer

import (
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/indexer"
	"glasswatch/listwatch"
)

// Lister reads an informer's store. Every List is one moment of the store and holds up no writer. The objects are
// shared and must not be modified; the slices are the caller's.
type Lister[T listwatch.Object] struct {
	store    *indexer.Store[listwatch.Key, T]
	resource schema.GroupResource
}

// NamespaceLister is a Lister of one namespace.
type NamespaceLister[T listwatch.Object] struct {
	lister    Lister[T]
	namespace string
}

// NewLister returns a lister on a store. resource is what its NotFound errors name; if it is empty, they name what the
// client-go scheme knows of T, else T's name.
func NewLister[T listwatch.Object](store *indexer.Store[listwatch.Key, T], resource schema.GroupResource) Lister[T] {
	if resource.Empty() {
		resource = guessResource[T]()
	}
	return Lister[T]{store: store, resource: resource}
}

// List returns the objects of all namespaces whose labels match; a nil selector matches all. The order is unspecified.
// The error is always nil; it is there for the sake of generated code that expects one.
func (l Lister[T]) List(selector labels.Selector) ([]T, error) {
	if selector == nil || selector.Empty() {
		return l.store.List(), nil
	}
	out := []T{}
	for _, obj := range l.store.All() {
		if matches(selector, obj) {
			out = append(out, obj)
		}
	}
	return out, nil
}

// Get returns the object of cluster scope of that name, or an error that apierrors.IsNotFound knows.
func (l Lister[T]) Get(name string) (T, error) { return l.get(listwatch.Key{Name: name}) }

// Namespace returns the lister of one namespace; that of "" lists all and gets objects of cluster scope.
func (l Lister[T]) Namespace(namespace string) NamespaceLister[T] {
	return NamespaceLister[T]{lister: l, namespace: namespace}
}

// List returns the namespace's objects whose labels match; a nil selector matches all. The order is unspecified. It
// looks at the namespace's objects only, unless the store has lost its [NamespaceIndex]: then at all. The error is
// always nil.
func (l NamespaceLister[T]) List(selector labels.Selector) ([]T, error) {
	if l.namespace == "" {
		return l.lister.List(selector)
	}
	out, err := l.lister.store.ByIndex(NamespaceIndex, l.namespace)
	if err != nil {
		out = l.lister.store.List()
	}
	return slices.DeleteFunc(out, func(obj T) bool {
		return obj.GetNamespace() != l.namespace || !matches(selector, obj)
	}), nil
}

// Get returns the namespace's object of that name, or an error that apierrors.IsNotFound knows.
func (l NamespaceLister[T]) Get(name string) (T, error) {
	return l.lister.get(listwatch.Key{Namespace: l.namespace, Name: name})
}

func (l Lister[T]) get(k listwatch.Key) (T, error) {
	obj, ok := l.store.GetByKey(k)
	if !ok {
		return obj, apierrors.NewNotFound(l.resource, k.Name)
	}
	return obj, nil
}

// matches spares the labels of objects that nobody asks for.
func matches[T listwatch.Object](selector labels.Selector, obj T) bool {
	return selector == nil || selector.Empty() || selector.Matches(labels.Set(obj.GetLabels()))
}

// guessResource names T's resource as well as can be done without asking a server.
func guessResource[T listwatch.Object]() schema.GroupResource {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return schema.GroupResource{Resource: strings.ToLower(typeName[T]())}
	}
	if obj, ok := reflect.New(t.Elem()).Interface().(runtime.Object); ok {
		if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil && len(kinds) > 0 {
			plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
			return plural.GroupResource()
		}
	}
	return schema.GroupResource{Resource: strings.ToLower(typeName[T]())}
}
