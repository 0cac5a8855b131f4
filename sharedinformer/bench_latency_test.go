package sharedinformer_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	compat "glasswatch/compat/cache"
)

const (
	pace       = 100 * time.Microsecond // between two events: 10,000 a second
	slowEvery  = time.Millisecond       // the slow handler is done with an event at most so often: it falls behind ever more
	stampRing  = 1 << 16                // events whose time is known; the fast handlers are never so far behind
	inTheStore = 10_000
	atLeast    = 5_000 // events in a run, however short it is to be: 50 of them are later than the 99th percentile
)

// BenchmarkLatency: from the moment at which an event is due in the watch's channel, with a buffer of 100, to the moment at
// which a handler is called with it; 10,000 events a second, five handlers, one of which is slow. What is reported as the
// time of an operation is the median, or the 99th percentile, of what the four others saw. An event counts from when it was
// due, not from when it was sent: a pacer that is late, be it that the channel is full or that it did not get a processor,
// is late for handlers, too. It then catches up, and events/s says whether it could.
//
// -benchtime 100ms would be 1,000 events, of which ten decide on the 99th percentile: a run sends 5,000 at least, which is
// half a second.
//
// No collection of garbage is in these figures: a run allocates a few megabytes at most, and starts with a heap of tens.
// What is left over of the world's making is collected before. So the 99th percentile is that of the hand-over, and says
// nothing of what an implementation's garbage costs later: that is part of BenchmarkEvent's time.
//
// The pacer spins, as a timer would be late by more than what is measured, and yields the processor at each turn: it takes a
// core only while nobody else wants one, and an event finds a thread that is awake. impl=floor hands the event over in the
// same way, through the channel to one goroutine and from there through a buffer to one goroutine per handler, without a
// reflector, a queue and a store; impl=floor-with-store is that with plain maps for a store.
func BenchmarkLatency(b *testing.B) {
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		bench := func(impl string, start func(b *testing.B, w *world, events chan watch.Event) (end func())) {
			b.Run("quantile="+q.name+"/impl="+impl, func(b *testing.B) { benchLatency(b, q.at, start) })
		}
		bench("glasswatch", func(b *testing.B, w *world, events chan watch.Event) func() {
			return w.runOurs(b, watchSource(w, events), false)
		})
		bench("client-go", func(b *testing.B, w *world, events chan watch.Event) func() {
			return w.runTheirs(b, clientgo.NewSharedIndexInformer, events)
		})
		bench("compat", func(b *testing.B, w *world, events chan watch.Event) func() {
			return w.runTheirs(b, compat.NewSharedIndexInformer, events)
		})
		bench("floor", func(_ *testing.B, w *world, events chan watch.Event) func() {
			return startHandOver(w, events, func(*corev1.Pod) {})
		})
		bench("floor-with-store", func(_ *testing.B, w *world, events chan watch.Event) func() {
			m := &maps{byKey: map[types.NamespacedName]*corev1.Pod{}, indices: [2]index{{}, {}}}
			for i := range w.listed() {
				m.put(&w.pods[i])
			}
			return startHandOver(w, events, m.put)
		})
	}
}

func benchLatency(b *testing.B, quantile float64, start func(*testing.B, *world, chan watch.Event) func()) {
	w := newWorld(inTheStore, 0)
	c := &clocks{start: time.Now(), due: make([]time.Duration, stampRing)}
	for range 4 {
		w.handlers = append(w.handlers, c.newHandler())
	}
	slow := time.NewTicker(slowEvery)
	defer slow.Stop()
	w.handlers = append(w.handlers, func(*corev1.Pod) {
		if c.running.Load() {
			<-slow.C
		}
	})
	events := make(chan watch.Event, 100)
	defer start(b, w, events)()
	runtime.GC()
	c.running.Store(true)
	n := 0
	send := func() {
		if n%window == 0 {
			w.makeWindow()
		}
		ev := w.batch[n%window]
		n++
		ev.Object.(*corev1.Pod).Generation = int64(n)
		c.due[n%stampRing] = c.awaitTurn()
		events <- ev
	}
	began := time.Since(c.start)
	c.next = began
	for b.Loop() {
		send()
	}
	for n < atLeast {
		send()
	}
	took := time.Since(c.start) - began
	b.ReportMetric(c.quantile(quantile, n), "ns/op")
	b.ReportMetric(float64(n)/took.Seconds(), "events/s")
}

// clocks know when each event was due and when it came.
type clocks struct {
	start    time.Time
	running  atomic.Bool
	next     time.Duration   // when the next event is due
	due      []time.Duration // a ring; an event's place is its number, which its pod bears
	handlers []*arrivals
}

// arrivals are one handler's.
type arrivals struct {
	took []time.Duration
	seen atomic.Int64 // len(took), for others
}

// newHandler returns one that notes how long each event took to reach it.
func (c *clocks) newHandler() func(*corev1.Pod) {
	a := &arrivals{took: make([]time.Duration, 0, stampRing)}
	c.handlers = append(c.handlers, a)
	return func(pod *corev1.Pod) {
		if pod.Generation == 0 {
			return // of the list
		}
		a.took = append(a.took, time.Since(c.start)-c.due[pod.Generation%stampRing])
		a.seen.Store(int64(len(a.took)))
	}
}

// awaitTurn spins until the next event is due, and returns when that was. Who is late does not wait, until he has caught up.
func (c *clocks) awaitTurn() (due time.Duration) {
	due = c.next
	for time.Since(c.start) < due {
		runtime.Gosched()
	}
	c.next += pace
	return due
}

// quantile waits until every handler has seen n events, and returns that quantile of all their times in nanoseconds.
func (c *clocks) quantile(q float64, n int) float64 {
	var all []time.Duration
	for _, a := range c.handlers {
		for a.seen.Load() < int64(n) {
			runtime.Gosched()
		}
		all = append(all, a.took...)
	}
	slices.Sort(all)
	return float64(all[int(q*float64(len(all)-1))])
}

// startHandOver is the least there is between a watch and handlers that do not wait for each other. Each pod goes to store
// first.
func startHandOver(w *world, events chan watch.Event, store func(*corev1.Pod)) (end func()) {
	stop, buffers := make(chan struct{}), make([]*buffer, len(w.handlers))
	var running sync.WaitGroup
	for n, handler := range w.handlers {
		buffers[n] = newBuffer()
		running.Go(func() { buffers[n].serve(handler) })
	}
	running.Go(func() {
		for {
			select {
			case ev := <-events:
				pod := ev.Object.(*corev1.Pod)
				store(pod)
				for _, b := range buffers {
					b.put(pod)
				}
			case <-stop:
				for _, b := range buffers {
					b.put(nil)
				}
				return
			}
		}
	})
	return func() { close(stop); running.Wait() }
}

// maps is the least that knows pods by key, by namespace and by node: one lock, and an index is touched only if its value
// changes.
type maps struct {
	mu      sync.Mutex
	byKey   map[types.NamespacedName]*corev1.Pod
	indices [2]index
}

type index map[string]map[types.NamespacedName]struct{}

func (m *maps) put(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	old := m.byKey[key]
	m.byKey[key] = pod
	m.indices[0].file(key, old, pod, func(p *corev1.Pod) string { return p.Namespace })
	m.indices[1].file(key, old, pod, func(p *corev1.Pod) string { return p.Spec.NodeName })
}

func (ix index) file(key types.NamespacedName, old, pod *corev1.Pod, value func(*corev1.Pod) string) {
	v := value(pod)
	if old != nil {
		was := value(old)
		if was == v {
			return
		}
		delete(ix[was], key)
	}
	if ix[v] == nil {
		ix[v] = map[types.NamespacedName]struct{}{}
	}
	ix[v][key] = struct{}{}
}

// buffer passes pods from one goroutine to another; nil ends it at once.
type buffer struct {
	mu    sync.Mutex // protects pods and ended
	wake  sync.Cond
	pods  []*corev1.Pod
	ended bool
}

func newBuffer() *buffer {
	b := &buffer{}
	b.wake.L = &b.mu
	return b
}

func (b *buffer) put(pod *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pods = append(b.pods, pod)
	b.ended = b.ended || pod == nil
	b.wake.Signal()
}

func (b *buffer) serve(handler func(*corev1.Pod)) {
	var taken []*corev1.Pod
	for {
		b.mu.Lock()
		for len(b.pods) == 0 {
			b.wake.Wait()
		}
		taken, b.pods = b.pods, taken[:0]
		b.mu.Unlock()
		for _, pod := range taken {
			if b.hasEnded() {
				return
			}
			handler(pod)
		}
	}
}

func (b *buffer) hasEnded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}
