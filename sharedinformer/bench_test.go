package sharedinformer

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
)

// feed is a ListerWatcher whose only watch hands out what the benchmark sends, in its own goroutine.
type feed struct {
	events chan *config
}

func (f feed) List(context.Context, metav1.ListOptions) (*listwatch.List[*config], error) {
	return &listwatch.List[*config]{ResourceVersion: "1"}, nil
}

func (f feed) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Stream[*config], error) {
	return feedStream{f, ctx}, nil
}

type feedStream struct {
	feed
	ctx context.Context
}

func (s feedStream) Next() (listwatch.Event[*config], error) {
	select {
	case obj := <-s.events:
		return listwatch.Event[*config]{Type: listwatch.Modified, Object: obj, ResourceVersion: obj.ResourceVersion}, nil
	case <-s.ctx.Done():
		return listwatch.Event[*config]{}, io.EOF
	}
}

func (s feedStream) Close() error { return nil }

// benchObjects are versions of a few objects, so that the benchmark measures no making of objects.
func benchObjects() []*config {
	objs := make([]*config, 4096)
	for n := range objs {
		objs[n] = &config{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprint("o", n%64), UID: "u", ResourceVersion: strconv.Itoa(n + 2),
		}}
	}
	return objs
}

// BenchmarkFanOut: from an event of the watch to the calls of all handlers.
func BenchmarkFanOut(b *testing.B) {
	for _, handlers := range []int{1, 10} {
		b.Run(fmt.Sprintf("handlers=%d/impl=glasswatch", handlers), func(b *testing.B) { benchOurs(b, handlers, HandlerOptions{}) })
		b.Run(fmt.Sprintf("handlers=%d/impl=glasswatch-folding", handlers), func(b *testing.B) { benchOurs(b, handlers, HandlerOptions{Fold: true}) })
		b.Run(fmt.Sprintf("handlers=%d/impl=client-go", handlers), func(b *testing.B) { benchTheirs(b, handlers) })
	}
}

const window = 512 // events under way at most, so that backlogs do not just grow

func benchOurs(b *testing.B, handlers int, opts HandlerOptions) {
	f := feed{make(chan *config, window)}
	var options Options[*config]
	options.Reflector.DisableStreamingList = true
	informer := New[*config](f, options)
	var seen sync.WaitGroup
	for range handlers {
		count := func(obj *config) {
			if obj.Data != nil {
				seen.Done()
			}
		}
		_, err := informer.AddHandler(HandlerFuncs[*config]{
			AddFunc:    func(obj *config, _ bool) { count(obj) },
			UpdateFunc: func(_, obj *config) { count(obj) },
		}, opts)
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = informer.Run(ctx) }()
	_ = informer.WaitForSync(ctx)
	pump(b, handlers, &seen, func(obj *config) { f.events <- obj })
	cancel()
	<-done
}

func benchTheirs(b *testing.B, handlers int) {
	events := make(chan watch.Event, window)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewProxyWatcher(events), nil
		},
	}
	informer := cache.NewSharedIndexInformer(withoutWatchList{lw}, &config{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	var seen sync.WaitGroup
	for range handlers {
		count := func(obj any) {
			if obj.(*config).Data != nil {
				seen.Done()
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: count, UpdateFunc: func(_, obj any) { count(obj) }})
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		b.Fatal("not synced")
	}
	pump(b, handlers, &seen, func(obj *config) { events <- watch.Event{Type: watch.Modified, Object: obj} })
	cancel()
	<-done
}

// withoutWatchList keeps client-go from asking for a streaming list.
type withoutWatchList struct{ *cache.ListWatch }

func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// pump sends b.N events and waits, window by window, until all handlers have seen the last of each.
func pump(b *testing.B, handlers int, seen *sync.WaitGroup, send func(*config)) {
	objs := benchObjects()
	marker := objs[0].DeepCopy()
	marker.Name = "marker"
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		send(objs[n%len(objs)])
		if n++; n%window == 0 {
			flush(handlers, seen, marker, n, send)
		}
	}
	flush(handlers, seen, marker, n+1, send)
}

// flush sends a marked object that every handler answers.
func flush(handlers int, seen *sync.WaitGroup, marker *config, n int, send func(*config)) {
	m := *marker
	m.ResourceVersion = strconv.Itoa(1_000_000 + n)
	m.Data = map[string]string{}
	seen.Add(handlers)
	send(&m)
	seen.Wait()
}
