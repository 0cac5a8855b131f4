package cache

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// ListAll calls appendFn for each object of store whose labels selector matches. An object without metadata ends the
// list, with an error.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	if labels.MatchesNothing(selector) {
		return nil
	}
	return appendMatching(store.List(), selector, appendFn)
}

// ListAllByNamespace is ListAll for the objects of a namespace, and ListAll for metav1.NamespaceAll. It uses the index
// NamespaceIndex; without that index, it checks all objects.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	if labels.MatchesNothing(selector) {
		return nil
	}
	if namespace == metav1.NamespaceAll {
		return ListAll(indexer, selector, appendFn)
	}
	objs, err := indexer.Index(NamespaceIndex, &metav1.ObjectMeta{Namespace: namespace})
	if err != nil {
		klog.Background().Info("Checking every object for its namespace: the store has no index of namespaces", "err", err)
		if objs, err = ofNamespace(indexer.List(), namespace); err != nil {
			return err
		}
	}
	return appendMatching(objs, selector, appendFn)
}

func ofNamespace(objs []any, namespace string) ([]any, error) {
	var found []any
	for _, obj := range objs {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		if accessor.GetNamespace() == namespace {
			found = append(found, obj)
		}
	}
	return found, nil
}

func appendMatching(objs []any, selector labels.Selector, appendFn AppendFunc) error {
	all := selector.Empty()
	for _, obj := range objs {
		if !all {
			accessor, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			if !selector.Matches(labels.Set(accessor.GetLabels())) {
				continue
			}
		}
		appendFn(obj)
	}
	return nil
}

// NewGenericLister returns a lister of the objects of indexer, which must be runtime.Objects. Its NotFound errors name
// resource.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return genericLister{indexer: indexer, resource: resource}
}

// genericLister lists all namespaces, or one.
type genericLister struct {
	indexer   Indexer
	resource  schema.GroupResource
	namespace string
}

// List returns the objects whose labels selector matches.
func (l genericLister) List(selector labels.Selector) (ret []runtime.Object, err error) {
	err = ListAllByNamespace(l.indexer, l.namespace, selector, func(obj any) {
		ret = append(ret, obj.(runtime.Object))
	})
	return ret, err
}

// ByNamespace returns a lister of the objects of one namespace.
func (l genericLister) ByNamespace(namespace string) GenericNamespaceLister {
	return genericNamespaceLister{genericLister{indexer: l.indexer, resource: l.resource, namespace: namespace}}
}

// Get returns the object whose key is name, or a NotFound error.
func (l genericLister) Get(name string) (runtime.Object, error) { return l.get(name, name) }

func (l genericLister) get(key, name string) (runtime.Object, error) {
	obj, exists, err := l.indexer.GetByKey(key)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, apierrors.NewNotFound(l.resource, name)
	}
	return obj.(runtime.Object), nil
}

type genericNamespaceLister struct{ genericLister }

// Get returns the object of this name, or a NotFound error.
func (l genericNamespaceLister) Get(name string) (runtime.Object, error) {
	return l.get(l.namespace+"/"+name, name)
}
