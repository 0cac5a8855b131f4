package reflector

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
)

// benchEvents are as many objects as one watch brings, with rising versions.
const benchEvents = 10_000

func benchObjects() []object {
	objs := make([]object, benchEvents)
	for i := range objs {
		objs[i] = change{rv: i + 2, key: keyNamed(fmt.Sprintf("obj-%d", i%500))}.object()
	}
	return objs
}

type nullSink struct{}

func (nullSink) Add(object) error                                { return nil }
func (nullSink) Update(object) error                             { return nil }
func (nullSink) Delete(object) error                             { return nil }
func (nullSink) DeleteKey(listwatch.Key) error                   { return nil }
func (nullSink) Replace([]object, []listwatch.Key, string) error { return nil }
func (nullSink) Bookmark(string) error                           { return nil }

// sliceStream hands out the objects once, then stops the reflector.
type sliceStream struct {
	objs []object
	i    int
	stop func()
}

func (s *sliceStream) Next() (listwatch.Event[object], error) {
	if s.i == len(s.objs) {
		s.stop()
		return listwatch.Event[object]{}, io.EOF
	}
	obj := s.objs[s.i]
	s.i++
	return listwatch.Event[object]{Type: listwatch.Modified, Object: obj, ResourceVersion: obj.ResourceVersion}, nil
}

func (s *sliceStream) Close() error { return nil }

type benchSource struct {
	objs []object
	stop func()
}

func (b *benchSource) List(context.Context, metav1.ListOptions) (*listwatch.List[object], error) {
	return &listwatch.List[object]{ResourceVersion: "1"}, nil
}

func (b *benchSource) Watch(context.Context, metav1.ListOptions) (listwatch.Stream[object], error) {
	return &sliceStream{objs: b.objs, stop: b.stop}, nil
}

type nullStore struct{}

func (nullStore) Add(any) error               { return nil }
func (nullStore) Update(any) error            { return nil }
func (nullStore) Delete(any) error            { return nil }
func (nullStore) Replace([]any, string) error { return nil }
func (nullStore) Resync() error               { return nil }

// chanWatch feeds an unbuffered channel from a goroutine, as client-go's StreamWatcher does.
type chanWatch struct {
	result chan watch.Event
	done   <-chan struct{}
}

func newChanWatch(ctx context.Context, objs []object, stop func()) *chanWatch {
	w := &chanWatch{result: make(chan watch.Event), done: ctx.Done()}
	go func() {
		defer close(w.result)
		for _, obj := range objs {
			select {
			case w.result <- watch.Event{Type: watch.Modified, Object: obj}:
			case <-w.done:
				return
			}
		}
		stop()
	}()
	return w
}

func (w *chanWatch) Stop()                          {}
func (w *chanWatch) ResultChan() <-chan watch.Event { return w.result }

// unstreamed tells client-go's reflector to list in pages.
type unstreamed struct{ *cache.ListWatch }

func (unstreamed) IsWatchListSemanticsUnSupported() bool { return true }

// A watch of 10,000 events must not cost as many allocations: its list, its stream and its states are some dozens.
func TestWatch_AnEventAllocatesNothing(t *testing.T) {
	objs := benchObjects()
	allocations := testing.AllocsPerRun(3, func() {
		ctx, stop := context.WithCancel(context.Background())
		New[object](&benchSource{objs, stop}, nullSink{}, Options{DisableStreamingList: true}).Run(ctx)
	})
	require.Less(t, allocations, benchEvents/10.0)
}

// BenchmarkWatch passes 10,000 events from a source that costs nothing to a sink that does nothing; an operation is one
// of these watches, with its list. With source=stream each has the source that its own client makes: ours calls a stream's
// Next, and client-go has a goroutine that sends through a channel. With source=channel both take them out of that channel.
func BenchmarkWatch(b *testing.B) {
	objs := benchObjects()
	perEvent := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	b.Run("source=stream/impl=glasswatch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, stop := context.WithCancel(context.Background())
			New[object](&benchSource{objs, stop}, nullSink{}, Options{DisableStreamingList: true}).Run(ctx)
		}
		perEvent(b)
	})
	b.Run("source=channel/impl=glasswatch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, stop := context.WithCancel(context.Background())
			lw := listwatch.Funcs[object]{
				ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
				WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
					return newChanWatch(ctx, objs, stop), nil
				},
			}
			New[object](lw, nullSink{}, Options{DisableStreamingList: true}).Run(ctx)
		}
		perEvent(b)
	})
	clientGo := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ctx, stop := context.WithCancel(context.Background())
			lw := unstreamed{&cache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
				WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
					return newChanWatch(ctx, objs, stop), nil
				},
			}}
			cache.NewReflectorWithOptions(lw, &metav1.PartialObjectMetadata{}, nullStore{}, cache.ReflectorOptions{}).RunWithContext(ctx)
		}
		perEvent(b)
	}
	b.Run("source=stream/impl=client-go", clientGo)
	b.Run("source=channel/impl=client-go", clientGo)
}
