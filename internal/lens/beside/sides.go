package beside

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/lens/look"
)

// Options of a Beside. All functions are needed.
type Options struct {
	Resync  time.Duration            // of client-go's informers
	Paged   bool                     // they list in pages, as before streaming lists
	Ours    map[string]look.Informer // on the same kinds
	Before  func()                   // is called in client-go's handler, after the call is recorded; may block and panic
	Busy    func() bool              // something is held back, so what has not come may still come
	Changed func()                   // is called when the counts have changed, not at once
}

// run runs an informer until its context ends.
type run func(context.Context)

// AddKind makes client-go's informer on a kind. Call it before Run.
func (b *Beside) AddKind(kind, resource string, example runtime.Object, client cache.Getter) error {
	lw := source{cache.NewListWatchFromClient(client, resource, "", fields.Everything()), b.options.Paged}
	informer := cache.NewSharedIndexInformer(lw, example, b.options.Resync, cache.Indexers{})
	b.stores[kind] = informer.GetStore()
	b.runs = append(b.runs, informer.RunWithContext)
	tell := func(action, old string, obj any) {
		gone, isTombstone := obj.(cache.DeletedFinalStateUnknown)
		if isTombstone {
			obj = gone.Obj
		}
		e := refOf(kind, obj)
		b.Record(ClientGo, look.Event{
			At: look.Called, Action: action, Kind: kind, Key: e.Key, RV: e.RV, Old: old, Tombstone: isTombstone,
		})
		b.options.Before()
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { tell("OnAdd", "", obj) },
		UpdateFunc: func(was, is any) { tell("OnUpdate", refOf(kind, was).RV, is) },
		DeleteFunc: func(obj any) { tell("OnDelete", "", obj) },
	})
	return err
}

// refOf names an object of client-go's.
func refOf(kind string, item any) look.Ref {
	obj := item.(metav1.Object)
	return look.Ref{Kind: kind, Key: cache.MetaObjectToName(obj).String(), RV: obj.GetResourceVersion()}
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
	for _, in := range b.options.Ours {
		for _, ref := range in.Refs() {
			all[Object{ref.Kind, ref.Key}] = [2]string{Ours: ref.RV}
		}
	}
	for kind, store := range b.stores {
		for _, item := range store.List() {
			ref := refOf(kind, item)
			o := Object{kind, ref.Key}
			all[o] = [2]string{all[o][Ours], ref.RV}
		}
	}
	return all
}
