package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/watchlist"
)

// NewListWatchFromClient lists and watches the objects of resource in namespace that fieldSelector selects.
func NewListWatchFromClient(c Getter, resource string, namespace string, fieldSelector fields.Selector) *ListWatch {
	return NewFilteredListWatchFromClient(c, resource, namespace, func(options *metav1.ListOptions) {
		options.FieldSelector = fieldSelector.String()
	})
}

// NewFilteredListWatchFromClient lists and watches the objects of resource in namespace. optionsModifier changes the
// options of each request. All four functions of the result are set.
func NewFilteredListWatchFromClient(c Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		optionsModifier(&options)
		return c.Get().Namespace(namespace).Resource(resource).VersionedParams(&options, metav1.ParameterCodec).Do(ctx).Get()
	}
	watchIt := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.Watch = true
		optionsModifier(&options)
		return c.Get().Namespace(namespace).Resource(resource).VersionedParams(&options, metav1.ParameterCodec).Watch(ctx)
	}
	return &ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) { return list(context.Background(), options) },
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			return watchIt(context.Background(), options)
		},
		ListWithContextFunc:  list,
		WatchFuncWithContext: watchIt,
	}
}

// ToListerWithContext returns l if it takes a context, else an adapter that drops the context.
func ToListerWithContext(l Lister) ListerWithContext {
	if l, ok := l.(ListerWithContext); ok {
		return l
	}
	return blindLister{l}
}

// ToWatcherWithContext returns w if it takes a context, else an adapter that drops the context.
func ToWatcherWithContext(w Watcher) WatcherWithContext {
	if w, ok := w.(WatcherWithContext); ok {
		return w
	}
	return blindWatcher{w}
}

// ToListerWatcherWithContext returns lw if it takes contexts, else an adapter that drops them.
func ToListerWatcherWithContext(lw ListerWatcher) ListerWatcherWithContext {
	if lw, ok := lw.(ListerWatcherWithContext); ok {
		return lw
	}
	return struct {
		ListerWithContext
		WatcherWithContext
	}{ToListerWithContext(lw), ToWatcherWithContext(lw)}
}

type blindLister struct{ Lister }

func (l blindLister) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return l.List(options)
}

type blindWatcher struct{ Watcher }

func (w blindWatcher) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.Watch(options)
}

// ToListWatcherWithWatchListSemantics returns lw. If client reports that it cannot stream lists, as a fake client does,
// lw reports it, too.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) ListerWatcher {
	return &semanticListWatch{ListWatch: lw, unsupported: watchlist.DoesClientNotSupportWatchListSemantics(client)}
}

type semanticListWatch struct {
	*ListWatch
	unsupported bool
}

// IsWatchListSemanticsUnSupported is the method that reflectors, including client-go's, check.
func (lw *semanticListWatch) IsWatchListSemanticsUnSupported() bool { return lw.unsupported }
