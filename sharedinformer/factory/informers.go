package factory

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/mutationdetect"
)

// InformerFor returns f's informer on T, such as *corev1.Service, and makes it if it is the first to ask. It lists and
// watches once f is started, or started again. T must be a type of the scheme; for others see [Factory.ForResource] and
// [Factory.ForMetadata].
func InformerFor[T listwatch.Object](f *Factory) (*sharedinformer.Informer[T], error) {
	gvr, namespaced, err := resourceOf[T](f)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := openLocked(f, entryID{gvr, typed}, namespaced, listwatch.NewForConfig[T])
	if err != nil {
		return nil, err
	}
	same, ok := e.GenericInformer.(generic[T])
	if !ok {
		return nil, fmt.Errorf("the informer on %s has another type: %T", resourceName(gvr), e.GenericInformer)
	}
	return same.Informer, nil
}

// ForResource returns f's informer on a resource by name, and makes it if it is the first to ask. If InformerFor was
// asked for the resource's type before, it is that one; the other way round there are two, with a watch each. Objects
// of built-in types have their Go type, others are *unstructured.Unstructured.
func (f *Factory) ForResource(gvr schema.GroupVersionResource) (GenericInformer, error) {
	goType, ok := builtin(gvr)
	if !ok {
		return openGeneric(f, entryID{gvr, unstructuredForm}, listwatch.NewUnstructured)
	}
	return openGeneric(f, entryID{gvr, builtinForm}, func(
		cfg *rest.Config, gvr schema.GroupVersionResource, opts listwatch.Options,
	) (*listwatch.Client[listwatch.Object], error) {
		return listwatch.NewForType(cfg, gvr, goType, opts)
	})
}

// ForMetadata returns f's informer on the metadata of a resource, *metav1.PartialObjectMetadata, and makes it if it is
// the first to ask.
func (f *Factory) ForMetadata(gvr schema.GroupVersionResource) (GenericInformer, error) {
	return openGeneric(f, entryID{gvr, metadataForm}, listwatch.NewMetadata)
}

// connect is listwatch.NewForConfig and its like.
type connect[T listwatch.Object] func(
	cfg *rest.Config, gvr schema.GroupVersionResource, opts listwatch.Options,
) (*listwatch.Client[T], error)

// openGeneric returns the informer of that id, and makes it if there is none. Whole objects may be a typed informer's.
func openGeneric[T listwatch.Object](f *Factory, id entryID, connect connect[T]) (GenericInformer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	namespaced := false
	if f.entries[id] == nil { // else it has its scope
		f.mu.Unlock()
		namespaced = f.scopeOf(id.gvr)
		f.mu.Lock()
	}
	if f.entries[entryID{id.gvr, typed}] != nil && id.form != metadataForm {
		id.form = typed
	}
	e, err := openLocked(f, id, namespaced, connect)
	if err != nil {
		return nil, err
	}
	return e.GenericInformer, nil
}

// openLocked returns the entry of that id, and makes it if there is none.
func openLocked[T listwatch.Object](f *Factory, id entryID, namespaced bool, connect connect[T]) (*entry, error) {
	if e := f.entries[id]; e != nil {
		return e, nil
	}
	if f.shutDown {
		return nil, errors.New("the factory was shut down")
	}
	lw, err := connectLocked(f, id, namespaced, connect)
	if err != nil {
		return nil, err
	}
	opts := informerOptions[T](f, id)
	var detector *mutationdetect.Detector
	if f.opts.OnMutation != nil || mutationdetect.Wanted() {
		detector = mutationdetect.New(opts.Name, f.opts.OnMutation)
		opts.BeforeStore = detector.BeforeStore
	}
	informer := sharedinformer.New(lw, opts)
	e := &entry{generic[T]{informer, id.gvr}, id, informer.Run, nil, make(chan struct{})}
	if detector != nil {
		e.run = func(ctx context.Context) error { return detector.Run(ctx, informer.Run) }
	}
	f.entries[id] = e
	return e, nil
}

// connectLocked returns what an informer lists and watches.
func connectLocked[T listwatch.Object](
	f *Factory, id entryID, namespaced bool, connect connect[T],
) (listwatch.ListerWatcher[T], error) {
	if f.httpClient == nil {
		var err error
		if f.httpClient, err = rest.HTTPClientFor(f.cfg); err != nil {
			return nil, err
		}
	}
	opts := listwatch.Options{
		HTTPClient: f.httpClient, Scheme: f.opts.Scheme, Shard: f.opts.Shard, OnForeign: f.opts.OnForeign,
	}
	if _, ok := builtin(id.gvr); ok {
		opts.Scheme = nil // the factory's need not know the built-in types
	}
	if namespaced {
		opts.Namespace = f.opts.Namespace
	}
	if f.shares(id) {
		opts.Decoder = memo.New(memo.Options{})
	}
	lw, err := connect(f.cfg, id.gvr, opts)
	if err != nil || f.opts.TweakListOptions == nil {
		return lw, err
	}
	return tweaked[T]{lw, f.opts.TweakListOptions}, nil
}

// shares reports whether the objects of an informer may share equal parts: nothing writes to them once decoded.
func (f *Factory) shares(id entryID) bool {
	copiesOnWrite := f.opts.TransformCopiesOnWrite && id.form != unstructuredForm
	return !f.opts.DisableSharing && (f.opts.Transform == nil || copiesOnWrite)
}

func informerOptions[T listwatch.Object](f *Factory, id entryID) sharedinformer.Options[T] {
	opts := sharedinformer.Options[T]{
		Name:         id.name(),
		Resource:     id.gvr.GroupResource(),
		ResyncPeriod: f.opts.DefaultResync,
		Queue:        f.opts.Queue,
		Reflector:    f.opts.Reflector,
	}
	if f.opts.Name != "" {
		opts.Name = f.opts.Name + "/" + opts.Name
	}
	if f.opts.Metrics != nil {
		opts.Metrics = f.opts.Metrics(opts.Name)
	}
	goType := reflect.TypeFor[T]()
	if id.form == builtinForm {
		goType, _ = builtin(id.gvr)
	}
	if period, ok := f.opts.Resync[goType]; ok {
		opts.ResyncPeriod = period
	}
	if f.opts.Transform != nil {
		opts.Transform = sameType[T](f.opts.Transform)
	}
	if h := f.opts.WatchErrorHandler; h != nil {
		opts.WatchErrorHandler = func(ctx context.Context, err error) { h(ctx, id.gvr, err) }
	}
	if h := f.opts.OnObjectError; h != nil {
		opts.OnObjectError = func(key listwatch.Key, err error) { h(id.gvr, key, err) }
	}
	return opts
}

// sameType makes a factory's transform an informer's: it refuses objects of another type.
func sameType[T listwatch.Object](transform func(listwatch.Object) (listwatch.Object, error)) func(T) (T, error) {
	return func(obj T) (T, error) {
		var none T
		out, err := transform(obj)
		if err != nil {
			return none, err
		}
		same, ok := out.(T)
		if !ok {
			return none, fmt.Errorf("the transform made a %T of a %T", out, obj)
		}
		return same, nil
	}
}

// tweaked changes the options of every list and watch.
type tweaked[T listwatch.Object] struct {
	listwatch.ListerWatcher[T]
	tweak func(opts *metav1.ListOptions)
}

func (t tweaked[T]) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[T], error) {
	t.tweak(&opts)
	return t.ListerWatcher.List(ctx, opts)
}

func (t tweaked[T]) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[T], error) {
	t.tweak(&opts)
	return t.ListerWatcher.Watch(ctx, opts)
}
