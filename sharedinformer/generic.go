package sharedinformer

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch"
)

// GenericInformer is a factory's informer for who does not know its type when compiling. Its objects have the type that
// the informer has: that of the scheme, *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type GenericInformer interface {
	Name() string
	Resource() schema.GroupVersionResource
	AddHandler(h Handler[listwatch.Object], opts HandlerOptions) (*Registration, error)
	RemoveHandler(r *Registration) error
	DrainHandler(r *Registration) error
	ShutDownHandler(ctx context.Context, r *Registration) error
	HasSynced() bool
	Synced() <-chan struct{}
	Done() <-chan struct{}
	WaitForSync(ctx context.Context) error
	LastSyncResourceVersion() string
	LastError() error
	Lister() GenericLister
	Stats() Stats
}

// GenericLister is a [Lister] of objects of any type.
type GenericLister interface {
	List(selector labels.Selector) ([]listwatch.Object, error)
	Get(name string) (listwatch.Object, error)
	Namespace(namespace string) GenericNamespaceLister
}

// GenericNamespaceLister is a [NamespaceLister] of objects of any type.
type GenericNamespaceLister interface {
	List(selector labels.Selector) ([]listwatch.Object, error)
	Get(name string) (listwatch.Object, error)
}

// generic makes an *Informer a GenericInformer.
type generic[T listwatch.Object] struct {
	*Informer[T]
	gvr schema.GroupVersionResource
}

func (g generic[T]) Resource() schema.GroupVersionResource { return g.gvr }

func (g generic[T]) AddHandler(h Handler[listwatch.Object], opts HandlerOptions) (*Registration, error) {
	if h == nil {
		return g.Informer.AddHandler(nil, opts)
	}
	if opts.Name == "" {
		opts.Name = handlerName(h)
	}
	return g.Informer.AddHandler(genericHandler[T]{h}, opts)
}

func (g generic[T]) Lister() GenericLister { return genericLister[T]{g.Informer.Lister()} }

type genericHandler[T listwatch.Object] struct{ to Handler[listwatch.Object] }

func (h genericHandler[T]) OnAdd(obj T, isInInitialList bool) { h.to.OnAdd(obj, isInInitialList) }
func (h genericHandler[T]) OnUpdate(oldObj, newObj T)         { h.to.OnUpdate(oldObj, newObj) }
func (h genericHandler[T]) OnDelete(d Deletion[T]) {
	untyped := Deletion[listwatch.Object]{Key: d.Key, FinalStateUnknown: d.FinalStateUnknown}
	if d.HasObj() { // else Obj would be an interface that holds a nil pointer
		untyped.Obj = d.Obj
	}
	h.to.OnDelete(untyped)
}

type genericLister[T listwatch.Object] struct{ Lister[T] }

func (l genericLister[T]) List(selector labels.Selector) ([]listwatch.Object, error) {
	return untypedList(l.Lister.List(selector))
}

func (l genericLister[T]) Get(name string) (listwatch.Object, error) {
	return untypedGet(l.Lister.Get(name))
}

func (l genericLister[T]) Namespace(namespace string) GenericNamespaceLister {
	return genericNamespaceLister[T]{l.Lister.Namespace(namespace)}
}

type genericNamespaceLister[T listwatch.Object] struct{ NamespaceLister[T] }

func (l genericNamespaceLister[T]) List(selector labels.Selector) ([]listwatch.Object, error) {
	return untypedList(l.NamespaceLister.List(selector))
}

func (l genericNamespaceLister[T]) Get(name string) (listwatch.Object, error) {
	return untypedGet(l.NamespaceLister.Get(name))
}

func untypedList[T listwatch.Object](objs []T, err error) ([]listwatch.Object, error) {
	out := make([]listwatch.Object, len(objs))
	for i, obj := range objs {
		out[i] = obj
	}
	return out, err
}

func untypedGet[T listwatch.Object](obj T, err error) (listwatch.Object, error) {
	if err != nil {
		return nil, err
	}
	return obj, nil
}
