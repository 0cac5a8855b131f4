package factory

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// GenericInformer is a factory's informer for who does not know its type when compiling. Its objects have the type that
// the informer has: that of the scheme, *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type GenericInformer interface {
	Name() string
	Resource() schema.GroupVersionResource
	AddHandler(
		h sharedinformer.Handler[listwatch.Object], opts sharedinformer.HandlerOptions,
	) (*sharedinformer.Registration, error)
	RemoveHandler(r *sharedinformer.Registration) error
	DrainHandler(r *sharedinformer.Registration) error
	HasSynced() bool
	Synced() <-chan struct{}
	Done() <-chan struct{}
	WaitForSync(ctx context.Context) error
	LastSyncResourceVersion() string
	LastError() error
	Lister() GenericLister
	Stats() sharedinformer.Stats
}

// GenericLister is a [sharedinformer.Lister] of objects of any type.
type GenericLister interface {
	GenericNamespaceLister
	Namespace(namespace string) GenericNamespaceLister
}

// GenericNamespaceLister is a [glasswatch/sharedinformer/lister.Namespace] of objects of any type.
type GenericNamespaceLister interface {
	List(selector labels.Selector) ([]listwatch.Object, error)
	Get(name string) (listwatch.Object, error)
}

// generic makes an *Informer a GenericInformer.
type generic[T listwatch.Object] struct {
	*sharedinformer.Informer[T]
	gvr schema.GroupVersionResource
}

func (g generic[T]) Resource() schema.GroupVersionResource { return g.gvr }

func (g generic[T]) AddHandler(
	h sharedinformer.Handler[listwatch.Object], opts sharedinformer.HandlerOptions,
) (*sharedinformer.Registration, error) {
	if h == nil {
		return g.Informer.AddHandler(nil, opts)
	}
	return g.Informer.AddHandler(genericHandler[T]{h}, opts)
}

func (g generic[T]) Lister() GenericLister {
	lister := g.Informer.Lister()
	return genericLister[T]{untyped[T]{lister}, lister}
}

type genericHandler[T listwatch.Object] struct {
	to sharedinformer.Handler[listwatch.Object]
}

func (h genericHandler[T]) OnAdd(obj T, isInInitialList bool) { h.to.OnAdd(obj, isInInitialList) }
func (h genericHandler[T]) OnUpdate(oldObj, newObj T)         { h.to.OnUpdate(oldObj, newObj) }
func (h genericHandler[T]) OnDelete(d sharedinformer.Deletion[T]) {
	untyped := sharedinformer.Deletion[listwatch.Object]{Key: d.Key, FinalStateUnknown: d.FinalStateUnknown}
	if d.HasObj() { // else Obj would be an interface that holds a nil pointer
		untyped.Obj = d.Obj
	}
	h.to.OnDelete(untyped)
}

type genericLister[T listwatch.Object] struct {
	untyped[T]
	lister sharedinformer.Lister[T]
}

func (l genericLister[T]) Namespace(namespace string) GenericNamespaceLister {
	return untyped[T]{l.lister.Namespace(namespace)}
}

// untyped makes a lister, of one namespace or of all, a GenericNamespaceLister.
type untyped[T listwatch.Object] struct {
	from interface {
		List(selector labels.Selector) ([]T, error)
		Get(name string) (T, error)
	}
}

func (u untyped[T]) List(selector labels.Selector) ([]listwatch.Object, error) {
	objs, err := u.from.List(selector)
	out := make([]listwatch.Object, len(objs))
	for i, obj := range objs {
		out[i] = obj
	}
	return out, err
}

func (u untyped[T]) Get(name string) (listwatch.Object, error) {
	obj, err := u.from.Get(name)
	if err != nil {
		return nil, err
	}
	return obj, nil
}
