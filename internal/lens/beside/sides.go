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
	Resync  time.Duration                  // of client-go's informers
	Paged   bool                           // they list in pages, as before streaming lists
	Before  func()                         // is called in both handlers, after the call is recorded; may block and panic
	Busy    func() bool                    // something is held back, so what has not come may still come
	Changed func()                         // is called when the counts have changed, not at once
	Store   func(put func(Object, string)) // tells what our stores have, with the resourceVersions
}

// Handler is for our informer on a kind.
func Handler[T listwatch.Object](b *Beside, kind string) sharedinformer.Handler[T] {
	return sharedinformer.HandlerFuncs[T]{
		AddFunc: func(obj T, _ bool) { b.called(Ours, kind, obj, Call{Name: "OnAdd"}) },
		UpdateFunc: func(was, is T) {
			b.called(Ours, kind, is, Call{Name: "OnUpdate", Old: was.GetResourceVersion()})
		},
		DeleteFunc: func(d sharedinformer.Deletion[T]) {
			b.called(Ours, kind, d.Obj, Call{Name: "OnDelete", Tombstone: d.FinalStateUnknown})
		},
	}
}

// AddKind makes client-go's informer on a kind. Call it before Run; run returns when its goroutines have ended.
func (b *Beside) AddKind(
	kind, resource string, example runtime.Object, client cache.Getter,
) (run func(context.Context), err error) {
	lw := source{cache.NewListWatchFromClient(client, resource, "", fields.Everything()), b.options.Paged}
	informer := cache.NewSharedIndexInformer(lw, example, b.options.Resync, cache.Indexers{})
	b.stores[kind] = informer.GetStore()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { b.called(ClientGo, kind, obj.(metav1.Object), Call{Name: "OnAdd"}) },
		UpdateFunc: func(was, is any) {
			old := was.(metav1.Object).GetResourceVersion()
			b.called(ClientGo, kind, is.(metav1.Object), Call{Name: "OnUpdate", Old: old})
		},
		DeleteFunc: func(obj any) {
			gone, tombstone := obj.(cache.DeletedFinalStateUnknown)
			if tombstone {
				obj = gone.Obj
			}
			b.called(ClientGo, kind, obj.(metav1.Object), Call{Name: "OnDelete", Tombstone: tombstone})
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

// versions are what both stores have.
func (b *Beside) versions() map[Object][2]string {
	all := map[Object][2]string{}
	b.options.Store(func(o Object, rv string) { all[o] = [2]string{Ours: rv} })
	for kind, store := range b.stores {
		for _, item := range store.List() {
			obj := item.(metav1.Object)
			o := Object{kind, cache.MetaObjectToName(obj).String()}
			all[o] = [2]string{all[o][Ours], obj.GetResourceVersion()}
		}
	}
	return all
}
