package beside

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Options of a Beside. All functions are needed.
type Options struct {
	Resync  time.Duration            // of client-go's informers
	Paged   bool                     // they list in pages, as before streaming lists
	Before  func()                   // is called in both handlers, after the call is recorded; may block and panic
	Busy    func() bool              // something is held back, so what has not come may still come
	Changed func()                   // is called when a comparison has changed the counts
	Store   func() map[Object]string // what our stores have
}

// Handler is for our informer on a kind.
func Handler[T listwatch.Object](b *Beside, kind string) sharedinformer.Handler[T] {
	return sharedinformer.HandlerFuncs[T]{
		AddFunc:    func(obj T, _ bool) { b.added(Ours, kind, obj) },
		UpdateFunc: func(was, is T) { b.updated(Ours, kind, was, is) },
		DeleteFunc: func(d sharedinformer.Deletion[T]) { b.deleted(Ours, kind, d.Obj, d.FinalStateUnknown) },
	}
}

// AddKind makes client-go's informer on a kind. Call it before Run; run returns when its goroutines have ended.
func (b *Beside) AddKind(
	kind, resource string, example runtime.Object, client cache.Getter,
) (run func(context.Context), err error) {
	lw := source{cache.NewListWatchFromClient(client, resource, "", fields.Everything()), b.options.Paged}
	informer := cache.NewSharedIndexInformer(lw, example, b.options.Resync, cache.Indexers{})
	b.theirs[kind] = informer.GetStore()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { b.added(ClientGo, kind, obj.(metav1.Object)) },
		UpdateFunc: func(was, is any) { b.updated(ClientGo, kind, was.(metav1.Object), is.(metav1.Object)) },
		DeleteFunc: func(obj any) {
			gone, tombstone := obj.(cache.DeletedFinalStateUnknown)
			if tombstone {
				obj = gone.Obj
			}
			b.deleted(ClientGo, kind, obj.(metav1.Object), tombstone)
		},
	})
	return informer.RunWithContext, err
}

// source tells client-go's reflector whether it may use streaming lists.
type source struct {
	*cache.ListWatch
	paged bool
}

func (s source) IsWatchListSemanticsUnSupported() bool { return s.paged }

func (b *Beside) clientGoStore() map[Object]string {
	all := map[Object]string{}
	for kind, store := range b.theirs {
		for _, item := range store.List() {
			obj := item.(metav1.Object)
			all[Object{kind, nameOf(obj)}] = obj.GetResourceVersion()
		}
	}
	return all
}

func nameOf(obj metav1.Object) string { return cache.MetaObjectToName(obj).String() }

func (b *Beside) added(side int, kind string, obj metav1.Object) {
	b.called(side, Object{kind, nameOf(obj)}, Version{obj.GetResourceVersion(), false}, Call{Name: "OnAdd"})
}

func (b *Beside) updated(side int, kind string, was, is metav1.Object) {
	call := Call{Name: "OnUpdate", Old: was.GetResourceVersion()}
	b.called(side, Object{kind, nameOf(is)}, Version{is.GetResourceVersion(), false}, call)
}

func (b *Beside) deleted(side int, kind string, obj metav1.Object, tombstone bool) {
	call := Call{Name: "OnDelete", Tombstone: tombstone}
	b.called(side, Object{kind, nameOf(obj)}, Version{obj.GetResourceVersion(), true}, call)
}
