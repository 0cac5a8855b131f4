package reflector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
)

// recorder is a Sink that keeps a map, as a store would, and a diary.
type recorder struct {
	mu    sync.Mutex
	view  map[listwatch.Key]string // the resourceVersion of each object
	diary []string

	fail map[string]error // by method name
	bang string           // the method that panics

	onBatch   func() // if not nil, called with each batch before it is written down
	onReplace func() // likewise with each list
}

func newRecorder() *recorder {
	return &recorder{view: map[listwatch.Key]string{}, fail: map[string]error{}}
}

func (s *recorder) do(op, note string, f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bang == op {
		panic("sink: " + op)
	}
	s.diary = append(s.diary, strings.TrimSpace(op+" "+note))
	f()
	return s.fail[op]
}

func tag(obj object) string { return obj.Name + "@" + obj.ResourceVersion }

func (s *recorder) Add(obj object) error {
	return s.do("Add", tag(obj), func() { s.view[listwatch.KeyOf(obj)] = obj.ResourceVersion })
}

func (s *recorder) Update(obj object) error {
	return s.do("Update", tag(obj), func() { s.view[listwatch.KeyOf(obj)] = obj.ResourceVersion })
}

func (s *recorder) Delete(obj object) error {
	return s.do("Delete", tag(obj), func() { delete(s.view, listwatch.KeyOf(obj)) })
}

func (s *recorder) DeleteKey(key listwatch.Key) error {
	return s.do("DeleteKey", key.Name, func() { delete(s.view, key) })
}

func (s *recorder) Replace(objs []object, keep []listwatch.Key, version string) error {
	var names, kept []string
	for _, obj := range objs {
		names = append(names, tag(obj))
	}
	for _, key := range keep {
		kept = append(kept, key.Name)
	}
	slices.Sort(kept)
	note := fmt.Sprintf("%s %v", version, names)
	if kept != nil {
		note += fmt.Sprintf(" keep %v", kept)
	}
	if s.onReplace != nil {
		s.onReplace()
	}
	return s.do("Replace", note, func() {
		old := s.view
		s.view = map[listwatch.Key]string{}
		for _, key := range keep {
			if v, ok := old[key]; ok {
				s.view[key] = v
			}
		}
		for _, obj := range objs {
			s.view[listwatch.KeyOf(obj)] = obj.ResourceVersion
		}
	})
}

// batchRecorder is a recorder that takes many changes at once.
type batchRecorder struct{ *recorder }

func (s batchRecorder) PutBatch(events []listwatch.Event[object]) []error {
	if s.onBatch != nil {
		s.onBatch()
	}
	errs := make([]error, len(events))
	for i, ev := range events {
		switch ev.Type {
		case listwatch.Added:
			errs[i] = s.Add(ev.Object)
		case listwatch.Modified:
			errs[i] = s.Update(ev.Object)
		case listwatch.Deleted:
			errs[i] = s.Delete(ev.Object)
		}
	}
	return errs
}

func (s *recorder) Bookmark(version string) error { return s.do("Bookmark", version, func() {}) }

// harness is a reflector between a server and a recorder, in a bubble of virtual time.
type harness struct {
	*server
	t      *testing.T
	sink   *recorder
	r      *Reflector[object]
	run    func(context.Context) // r.Run, or what takes its place
	log    logr.Logger           // the zero value drops everything
	cancel context.CancelFunc
	done   chan any // Run's panic, or nil

	mu     sync.Mutex
	errs   []error
	states []State
}

// story plays f in a bubble. Retries are not jittered, so that times can be told; the reflector is stopped at the end.
func story(t *testing.T, opts Options, f func(h *harness)) {
	t.Helper()
	play(t, opts, false, f)
}

// storyInBatches is story with a stream and a sink that have, and take, many events at once.
func storyInBatches(t *testing.T, opts Options, f func(h *harness)) {
	t.Helper()
	play(t, opts, true, f)
}

func play(t *testing.T, opts Options, batches bool, f func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, opts, batches)
		defer h.Stop()
		f(h)
	})
}

func newHarness(t *testing.T, opts Options, batches bool) *harness {
	h := &harness{server: newServer(), t: t, sink: newRecorder()}
	if opts.Backoff.Jitter == 0 {
		opts.Backoff.Jitter = -1
	}
	slow := opts.OnError
	opts.OnError = func(ctx context.Context, err error) {
		if slow != nil {
			slow(ctx, err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.errs = append(h.errs, err)
	}
	opts.OnTransition = func(_, to State) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.states = append(h.states, to)
	}
	var sink Sink[object] = h.sink
	if batches {
		sink = batchRecorder{h.sink}
	}
	h.r = New[object](h.server, sink, opts)
	h.run = h.r.Run
	return h
}

// Start runs the reflector and waits until there is nothing more for it to do now.
func (h *harness) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan any, 1)
	h.cancel, h.done = cancel, done
	go func() {
		defer func() { done <- recover() }()
		h.run(klog.NewContext(ctx, h.log))
	}()
	synctest.Wait()
}

// Stop cancels and requires that Run returns without time passing.
func (h *harness) Stop() any {
	if h.cancel == nil {
		return nil
	}
	h.cancel()
	h.cancel = nil
	start := time.Now()
	what := <-h.done
	require.Zero(h.t, time.Since(start), "Run took its time to stop")
	require.Equal(h.t, Stopped, h.r.State())
	require.Empty(h.t, h.streams, "a stream was left open")
	return what
}

// Settle waits until nothing more happens without time passing.
func (h *harness) Settle() { synctest.Wait() }

// Pass lets virtual time go by.
func (h *harness) Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// ExpectSink requires exactly these calls since the last time.
func (h *harness) ExpectSink(want ...string) {
	h.t.Helper()
	synctest.Wait()
	h.sink.mu.Lock()
	defer h.sink.mu.Unlock()
	require.Equal(h.t, want, h.sink.diary)
	h.sink.diary = nil
}

// ExpectRequests requires exactly these requests since the last time.
func (h *harness) ExpectRequests(want ...string) {
	h.t.Helper()
	synctest.Wait()
	require.Equal(h.t, want, h.Requests())
}

// ExpectErrors requires that the errors reported since the last time are these, in order.
func (h *harness) ExpectErrors(want ...error) {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(h.t, h.errs, len(want), "%v", h.errs)
	for i := range want {
		require.ErrorContains(h.t, h.errs[i], want[i].Error())
	}
	h.errs = nil
}

// ExpectStates requires exactly these transitions since the last time.
func (h *harness) ExpectStates(want ...State) {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Equal(h.t, want, h.states)
	h.states = nil
}

func (h *harness) ExpectVersion(want string) {
	h.t.Helper()
	synctest.Wait()
	require.Equal(h.t, want, h.r.LastSyncResourceVersion())
}

// Forget drops what was recorded so far.
func (h *harness) Forget() {
	synctest.Wait()
	h.Requests()
	h.mu.Lock()
	h.errs, h.states = nil, nil
	h.mu.Unlock()
	h.sink.mu.Lock()
	h.sink.diary = nil
	h.sink.mu.Unlock()
}
