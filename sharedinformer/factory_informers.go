package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
)

// resource is what a factory knows of a type.
type resource struct {
	gvr        schema.GroupVersionResource
	namespaced bool
}

// InformerFor returns f's informer on T, such as *corev1.Service, and makes it if it is the first to ask. It lists and
// watches once f is started, or started again. T must be a type of the scheme; for others see [Factory.ForResource] and
// [Factory.ForMetadata].
func InformerFor[T listwatch.Object](f *Factory) (*Informer[T], error) {
	res, err := resourceOf[T](f)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := typedEntryLocked[T](f, res)
	if err != nil {
		return nil, err
	}
	informer, ok := e.informer.(*Informer[T])
	if !ok {
		return nil, fmt.Errorf("the informer on %s has another type: %T", resourceName(res.gvr), e.informer)
	}
	return informer, nil
}

// ForResource returns f's informer on a resource by name, and makes it if it is the first to ask. If InformerFor was asked
// for the resource's type before, it is that one; the other way round there are two, with a watch each. Objects of built-in
// types have their Go type, others are *unstructured.Unstructured.
func (f *Factory) ForResource(gvr schema.GroupVersionResource) (GenericInformer, error) {
	if e := f.find(entryID{gvr, typed}, entryID{gvr, builtinForm}, entryID{gvr, unstructuredForm}); e != nil {
		return e.GenericInformer, nil
	}
	if known, ok := builtins().byResource[gvr]; ok {
		return f.forBuiltin(known)
	}
	namespaced := f.scopeOf(gvr)
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.entries[entryID{gvr, typed}]; e != nil { // it came while the mapper was asked
		return e.GenericInformer, nil
	}
	e, err := openLocked(f, entryID{gvr, unstructuredForm}, namespaced, func(opts listwatch.Options) (listwatch.ListerWatcher[*unstructured.Unstructured], error) {
		return listwatch.NewUnstructured(f.cfg, gvr, opts)
	})
	return e.generic(), err
}

// forBuiltin returns f's informer on a built-in resource whose type nobody has asked for.
func (f *Factory) forBuiltin(known builtin) (GenericInformer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.entries[entryID{known.gvr, typed}]; e != nil { // it came since f was last looked at
		return e.GenericInformer, nil
	}
	e, err := openLocked(f, entryID{known.gvr, builtinForm}, known.namespaced, func(opts listwatch.Options) (listwatch.ListerWatcher[listwatch.Object], error) {
		return listwatch.NewForType(f.cfg, known.gvr, known.goType, opts)
	})
	return e.generic(), err
}

// ForMetadata returns f's informer on the metadata of a resource, *metav1.PartialObjectMetadata, and makes it if it is the
// first to ask.
func (f *Factory) ForMetadata(gvr schema.GroupVersionResource) (GenericInformer, error) {
	id := entryID{gvr, metadataForm}
	if e := f.find(id); e != nil {
		return e.GenericInformer, nil
	}
	namespaced := f.scopeOf(gvr)
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := openLocked(f, id, namespaced, func(opts listwatch.Options) (listwatch.ListerWatcher[*metav1.PartialObjectMetadata], error) {
		return listwatch.NewMetadata(f.cfg, gvr, opts)
	})
	return e.generic(), err
}

// find returns the first of the entries that is there, or nil.
func (f *Factory) find(ids ...entryID) *entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if e := f.entries[id]; e != nil {
			return e
		}
	}
	return nil
}

func (e *entry) generic() GenericInformer {
	if e == nil {
		return nil
	}
	return e.GenericInformer
}

func typedEntryLocked[T listwatch.Object](f *Factory, res resource) (*entry, error) {
	return openLocked(f, entryID{res.gvr, typed}, res.namespaced, func(opts listwatch.Options) (listwatch.ListerWatcher[T], error) {
		return listwatch.NewForConfig[T](f.cfg, res.gvr, opts)
	})
}

// openLocked returns the entry of that id, and makes it if there is none.
func openLocked[T listwatch.Object](f *Factory, id entryID, namespaced bool, connect func(listwatch.Options) (listwatch.ListerWatcher[T], error)) (*entry, error) {
	if e := f.entries[id]; e != nil {
		return e, nil
	}
	if f.shutDown {
		return nil, errors.New("the factory was shut down")
	}
	if f.httpClient == nil {
		client, err := rest.HTTPClientFor(f.cfg)
		if err != nil {
			return nil, err
		}
		f.httpClient = client
	}
	opts := listwatch.Options{HTTPClient: f.httpClient, Scheme: f.opts.Scheme}
	if f.opts.Sharing == SharingDecoded && (f.opts.Transform == nil || f.opts.TransformCopiesOnWrite) {
		opts.Decoder = memo.New(memo.Options{})
	}
	if _, known := builtins().byType[reflect.TypeFor[T]()]; known || id.form == builtinForm {
		opts.Scheme = nil // the factory's need not know the built-in types
	}
	if namespaced {
		opts.Namespace = f.opts.Namespace
	}
	lw, err := connect(opts)
	if err != nil {
		return nil, err
	}
	if f.opts.TweakListOptions != nil {
		lw = tweaked[T]{lw, f.opts.TweakListOptions}
	}
	informerOpts, err := informerOptions[T](f, id)
	if err != nil {
		return nil, err
	}
	informer := New(lw, informerOpts)
	e := &entry{
		id:              id,
		GenericInformer: generic[T]{informer, id.gvr},
		informer:        informer,
		run:             informer.Run,
		finished:        make(chan struct{}),
	}
	f.entries[id] = e
	return e, nil
}

func informerOptions[T listwatch.Object](f *Factory, id entryID) (Options[T], error) {
	opts := Options[T]{
		Name:            id.name(),
		Resource:        id.gvr.GroupResource(),
		ResyncPeriod:    f.opts.DefaultResync,
		Queue:           f.opts.Queue,
		Reflector:       f.opts.Reflector,
		DetectMutations: f.opts.DetectMutations,
	}
	if f.opts.Name != nil {
		var err error
		if opts.Name, err = f.opts.Name.Reserve(opts.Name); err != nil {
			return opts, err
		}
	}
	if f.opts.Metrics != nil {
		opts.Metrics = f.opts.Metrics(opts.Name)
	}
	goType := reflect.TypeFor[T]()
	if id.form == builtinForm {
		goType = builtins().byResource[id.gvr].goType
	}
	if period, ok := f.opts.Resync[goType]; ok {
		opts.ResyncPeriod = period
	}
	if transform := f.opts.Transform; transform != nil {
		opts.Transform = func(obj T) (T, error) {
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
	if h := f.opts.WatchErrorHandler; h != nil {
		opts.WatchErrorHandler = func(ctx context.Context, err error) { h(ctx, id.gvr, err) }
	}
	if h := f.opts.OnObjectError; h != nil {
		opts.OnObjectError = func(key listwatch.Key, err error) { h(id.gvr, key, err) }
	}
	return opts, nil
}

// resourceOf finds the resource of T: a built-in one, or what the scheme and the mapper say.
func resourceOf[T listwatch.Object](f *Factory) (resource, error) {
	if known, ok := builtins().byType[reflect.TypeFor[T]()]; ok {
		return known.resource, nil
	}
	obj := newObject[T]()
	switch obj.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return resource{}, fmt.Errorf("%T says nothing of a resource: ask with ForResource or ForMetadata", obj)
	}
	asRuntime, ok := obj.(runtime.Object)
	if !ok {
		return resource{}, fmt.Errorf("%s is no pointer to an object", reflect.TypeFor[T]())
	}
	types := f.opts.Scheme
	if types == nil {
		types = scheme.Scheme
	}
	kinds, _, err := types.ObjectKinds(asRuntime)
	if err != nil {
		return resource{}, fmt.Errorf("resource of %T: %w", obj, err)
	}
	if f.opts.RESTMapper == nil {
		plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
		return resource{plural, true}, nil
	}
	mapping, err := f.opts.RESTMapper.RESTMapping(kinds[0].GroupKind(), kinds[0].Version)
	if err != nil {
		return resource{}, fmt.Errorf("resource of %T: %w", obj, err)
	}
	return resource{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

// scopeOf reports whether a resource is namespaced, as far as the factory can know. The mapper may ask a server: no lock may
// be held.
func (f *Factory) scopeOf(gvr schema.GroupVersionResource) bool {
	if known, ok := builtins().byResource[gvr]; ok {
		return known.namespaced
	}
	if f.opts.RESTMapper == nil {
		return true
	}
	gvk, err := f.opts.RESTMapper.KindFor(gvr)
	if err != nil {
		return true
	}
	mapping, err := f.opts.RESTMapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err != nil || mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// newObject returns a new object of T's type; nil unless T is a pointer.
func newObject[T listwatch.Object]() any {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return nil
	}
	return reflect.New(t.Elem()).Interface()
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
