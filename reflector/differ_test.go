package reflector

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"glasswatch/listwatch"
	"glasswatch/reflector/backoff"
)

// TestWhereClientGoDiffers plays the same to client-go's reflector and to this one. Each claim is a row of
// docs/use/swap.md.
func TestWhereClientGoDiffers(t *testing.T) {
	for _, tc := range []struct {
		claim        string
		opts         Options
		play         func(h *harness)
		clientGo     []string // the requests after play
		ours         []string
		clientGoSink []string // nil: not looked at
		oursSink     []string
	}{
		{
			claim: "an outage costs client-go a list",
			play: func(h *harness) {
				h.Pass(time.Minute)
				h.set(func() { h.failWatches = []error{outage()} })
				h.BreakWatch(io.EOF)
				h.Pass(time.Second)
			},
			clientGo: []string{`watch@"1"`, `stream@"1"`},
			ours:     []string{`watch@"1"`, `watch@"1"`},
		},
		{
			claim: "client-go waits without end for a missing bookmark",
			play: func(h *harness) {
				h.set(func() { h.withholdEnd = true })
				h.BreakWatch(expired())
				h.Pass(4 * time.Minute)
			},
			clientGo: []string{`stream@"1"`},
			ours:     []string{`stream@"1"`, `list@"1"`, `watch@"1"`},
		},
		{
			claim: "client-go lists anew without a pause when the stream ends instead",
			play: func(h *harness) {
				h.set(func() { h.withholdEnd = true })
				h.BreakWatch(expired())
				h.Pass(2 * time.Second)
				h.BreakWatch(io.EOF)
			},
			clientGo: []string{`stream@"1"`, `stream@"1"`},
			ours:     []string{`stream@"1"`, `list@"1"`, `watch@"1"`},
		},
		{
			claim: "client-go tries a refused streaming list on each relist",
			play: func(h *harness) {
				h.set(func() { h.refuseStreaming = invalid() })
				h.BreakWatch(expired())
				h.Pass(time.Second)
				h.BreakWatch(expired())
				h.Pass(2 * time.Second)
			},
			clientGo: []string{`stream@"1"`, `list@"1"`, `watch@"1"`, `stream@"1"`, `list@"1"`, `watch@"1"`},
			ours:     []string{`stream@"1"`, `list@"1"`, `watch@"1"`, `list@"1"`, `watch@"1"`},
		},
		{
			claim: "client-go's reflector leaves a Retry-After to the REST client",
			play: func(h *harness) {
				h.set(func() { h.failWatches = []error{busy(30)} })
				h.BreakWatch(busy(0))
				h.Pass(10 * time.Second)
			},
			clientGo: []string{`watch@"1"`, `watch@"1"`},
			ours:     []string{`watch@"1"`},
		},
		{
			claim: "client-go misses what was deleted between two watches from 0",
			opts:  Options{DisableStreamingList: true},
			play: func(h *harness) {
				h.Rewind(1)
				h.BreakWatch(expired()) // a list at "0" follows
				h.Pass(2 * time.Minute)
				h.Put("a")
				h.Pass(2 * time.Minute)
				h.Rewind(1)
				h.Pass(2 * time.Minute)
				h.Forget()
				h.BreakWatch(io.EOF)
			},
			clientGo: []string{`watch@"0"`},
			ours:     []string{`list@"0" limit=500`, `watch@"0"`},
		},
		{
			claim: "client-go's resourceVersion follows a bookmark back",
			play: func(h *harness) {
				h.Put("b", "c")
				h.BookmarkAt("2")
				h.Pass(time.Minute)
				h.BreakWatch(io.EOF)
			},
			clientGo:     []string{`watch@"2"`},
			ours:         []string{`watch@"3"`},
			clientGoSink: []string{"Add b@2", "Add c@3", "Bookmark 2", "Add c@3"},
			oursSink:     []string{"Add b@2", "Add c@3"},
		},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			play := func(h *harness) ([]string, []string) {
				h.Put("a")
				h.Start()
				h.Forget()
				tc.play(h)
				synctest.Wait()
				requests := h.Requests()
				h.sink.mu.Lock()
				defer h.sink.mu.Unlock()
				return requests, h.sink.diary
			}
			storyOfClientGo(t, tc.opts, func(h *harness) {
				requests, diary := play(h)
				require.Equal(t, tc.clientGo, requests, "client-go")
				if tc.clientGoSink != nil {
					require.Equal(t, tc.clientGoSink, diary, "client-go")
				}
			})
			story(t, tc.opts, func(h *harness) {
				requests, diary := play(h)
				require.Equal(t, tc.ours, requests, "glasswatch")
				if tc.oursSink != nil {
					require.Equal(t, tc.oursSink, diary, "glasswatch")
				}
			})
		})
	}
}

func TestWhereClientGoDiffers_CancellationEndsEveryWait(t *testing.T) {
	stopping := func(h *harness) time.Duration {
		h.set(func() { h.failStreams = []error{busy(0), busy(0), busy(0), busy(0)} })
		h.Start()
		h.Pass(6 * time.Second) // in the wait of 6.4 s
		start := time.Now()
		h.cancel()
		h.cancel = nil
		<-h.done
		return time.Since(start)
	}
	storyOfClientGo(t, Options{}, func(h *harness) { require.Greater(t, stopping(h), 5*time.Second) })
	story(t, Options{}, func(h *harness) { require.Zero(t, stopping(h)) })
}

func TestWhereClientGoDiffers_BackoffGrowsUntilThereIsQuiet(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	theirs := wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2}.DelayWithReset(clock, 2*time.Minute)
	ours := backoff.NewTimer(Backoff{Jitter: -1})
	var theirLast, ourLast time.Duration
	for range 10 {
		theirLast, ourLast = theirs(), ours.Next(clock.Now(), 0)
		clock.Step(ourLast)
	}
	require.Equal(t, 800*time.Millisecond, theirLast)
	require.Equal(t, 30*time.Second, ourLast)
}

func TestWhereClientGoDiffers_ShortWatchTimeoutIsHonoured(t *testing.T) {
	timeout := func(h *harness) int64 {
		h.Start()
		return *h.requests[0].opts.TimeoutSeconds
	}
	opts := Options{MinWatchTimeout: 10 * time.Second}
	storyOfClientGo(t, opts, func(h *harness) { require.GreaterOrEqual(t, timeout(h), int64(300)) })
	story(t, opts, func(h *harness) { require.Less(t, timeout(h), int64(20)) })
}

// storyOfClientGo is story with client-go's reflector in the place of ours.
func storyOfClientGo(t *testing.T, opts Options, f func(h *harness)) {
	t.Helper()
	// The default handlers but the first pace errors by wall time, which a bubble does not share.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, opts, false)
		defer func() {
			if h.cancel != nil {
				h.cancel()
				<-h.done
			}
		}()
		var lw cache.ListerWatcherWithContext = foreignSource{h.server}
		if opts.DisableStreamingList {
			lw = foreignPagedSource{foreignSource{h.server}}
		}
		theirs := cache.NewReflectorWithOptions(lw.(cache.ListerWatcher), &metav1.PartialObjectMetadata{}, foreignSink{h.sink}, cache.ReflectorOptions{
			Name:            opts.Name,
			MinWatchTimeout: opts.MinWatchTimeout,
			Backoff:         &wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2},
		})
		theirs.WatchListPageSize = opts.PageSize
		h.run = theirs.RunWithContext
		f(h)
	})
}

// foreignSource is the server as client-go's reflector sees it.
type foreignSource struct{ *server }

func (s foreignSource) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

func (s foreignSource) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

func (s foreignSource) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	page, err := s.server.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: page.ResourceVersion, Continue: page.Continue}}
	for _, obj := range page.Items {
		list.Items = append(list.Items, *obj)
	}
	return list, nil
}

func (s foreignSource) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	stream, err := s.server.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	w := &foreignWatch{stream: stream, ch: make(chan watch.Event), stop: make(chan struct{})}
	go w.pump()
	return w, nil
}

type foreignPagedSource struct{ foreignSource }

func (foreignPagedSource) IsWatchListSemanticsUnSupported() bool { return true }

type foreignWatch struct {
	stream  listwatch.Stream[object]
	ch      chan watch.Event
	stop    chan struct{}
	stopped bool
}

func (w *foreignWatch) ResultChan() <-chan watch.Event { return w.ch }

func (w *foreignWatch) Stop() {
	if !w.stopped {
		w.stopped = true
		close(w.stop)
		_ = w.stream.Close()
	}
}

func (w *foreignWatch) pump() {
	defer close(w.ch)
	for {
		ev, err := w.stream.Next()
		out := watch.Event{Type: watch.EventType(ev.Type.String()), Object: ev.Object}
		var status apierrors.APIStatus
		switch {
		case errors.As(err, &status):
			s := status.Status()
			out = watch.Event{Type: watch.Error, Object: &s}
		case err != nil:
			return
		case ev.Type == listwatch.Bookmark:
			mark := &metav1.PartialObjectMetadata{}
			mark.ResourceVersion = ev.ResourceVersion
			if ev.InitialEventsEnd {
				mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			}
			out.Object = mark
		}
		select {
		case w.ch <- out:
		case <-w.stop:
			return
		}
	}
}

// foreignSink is the recorder as client-go's reflector sees it.
type foreignSink struct{ *recorder }

func (s foreignSink) Add(obj any) error    { return s.recorder.Add(obj.(object)) }
func (s foreignSink) Update(obj any) error { return s.recorder.Update(obj.(object)) }
func (s foreignSink) Delete(obj any) error { return s.recorder.Delete(obj.(object)) }
func (s foreignSink) Resync() error        { return nil }
func (s foreignSink) Replace(objs []any, version string) error {
	typed := make([]object, len(objs))
	for i, obj := range objs {
		typed[i] = obj.(object)
	}
	return s.recorder.Replace(typed, nil, version)
}
