package workqueue_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"

	compat "glasswatch/compat/workqueue"
	"glasswatch/workqueue"
	"glasswatch/workqueue/limiters"
)

// The benchmarks play one workload to each queue. impl=floor is what no queue could do
// without, as each benchmark says.

type (
	benchKey   = types.NamespacedName
	benchQueue = clientgo.TypedRateLimitingInterface[benchKey]
)

// retryAfter is the limiter's first delay and half of its longest.
var benchQueues = []struct {
	impl string
	make func(retryAfter time.Duration) benchQueue
}{
	{"glasswatch", func(retryAfter time.Duration) benchQueue {
		return workqueue.NewRateLimiting(workqueue.Options[benchKey]{
			RateLimiter: limiters.NewItemExponentialFailureRateLimiter[benchKey](retryAfter, 2*retryAfter),
		})
	}},
	{"compat", func(retryAfter time.Duration) benchQueue {
		return compat.NewTypedRateLimitingQueue(
			compat.NewTypedItemExponentialFailureRateLimiter[benchKey](retryAfter, 2*retryAfter))
	}},
	{"client-go", func(retryAfter time.Duration) benchQueue {
		return clientgo.NewTypedRateLimitingQueue(
			clientgo.NewTypedItemExponentialFailureRateLimiter[benchKey](retryAfter, 2*retryAfter))
	}},
}

// forEach runs a workload on every queue, side by side for benchstat -col /impl.
func forEach(b *testing.B, f func(b *testing.B, q benchQueue)) {
	for _, queue := range benchQueues {
		b.Run("impl="+queue.impl, func(b *testing.B) {
			q := queue.make(time.Hour)
			defer q.ShutDown()
			b.ReportAllocs()
			f(b, q)
		})
	}
}

// sizes runs a benchmark with a thousand keys, and ten and a hundred times as many.
func sizes(b *testing.B, f func(b *testing.B, keys []benchKey)) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) { f(b, benchKeys(n)) })
	}
}

func benchKeys(n int) []benchKey {
	keys := make([]benchKey, n)
	for i := range keys {
		keys[i] = benchKey{Namespace: fmt.Sprintf("namespace-%d", i%10), Name: fmt.Sprintf("service-%d", i)}
	}
	return keys
}

// floor has what a queue must at least do: under a lock, look up what it knows of a key, and keep the key in order.
type floor struct {
	mu    sync.Mutex
	known map[benchKey]int
	ring  []benchKey
	next  int
}

func newFloor(keys []benchKey) *floor {
	f := &floor{known: make(map[benchKey]int, len(keys)), ring: make([]benchKey, 0, len(keys)+1)}
	for i, k := range keys {
		f.known[k] = i + 1
	}
	return f
}

func (f *floor) lookUp(k benchKey) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[k]
}

func (f *floor) add(k benchKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[k] > 0 {
		f.ring = append(f.ring, k)
	}
}

func (f *floor) get() benchKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.ring[f.next]
	if f.next++; f.next == len(f.ring) {
		f.ring, f.next = f.ring[:0], 0
	}
	return k
}

// One op adds a key, gets it and is done with it. The floor looks up the key, appends it to a slice and takes it out.
func BenchmarkAddGetDone(b *testing.B) {
	sizes(b, func(b *testing.B, keys []benchKey) {
		forEach(b, func(b *testing.B, q benchQueue) {
			for i := 0; b.Loop(); i++ {
				q.Add(keys[i%len(keys)])
				item, _ := q.Get()
				q.Done(item)
			}
		})
		b.Run("impl=floor", func(b *testing.B) {
			b.ReportAllocs()
			f := newFloor(keys)
			for i := 0; b.Loop(); i++ {
				f.add(keys[i%len(keys)])
				f.get()
			}
		})
	})
}

// Half of the keys are queued all the time, so that Add, Get and Done meet filled tables.
func BenchmarkAddGetDone_Filled(b *testing.B) {
	sizes(b, func(b *testing.B, keys []benchKey) {
		forEach(b, func(b *testing.B, q benchQueue) {
			for _, k := range keys[:len(keys)/2] {
				q.Add(k)
			}
			for i := len(keys) / 2; b.Loop(); i++ {
				q.Add(keys[i%len(keys)])
				item, _ := q.Get()
				q.Done(item)
			}
		})
	})
}

// One op is a key that is due in an hour and that is delayed already; for keys that are not see
// BenchmarkAddAfter_NewKeys. later: it was promised for an earlier time, which stays, the least that there can be to
// do. sooner: its deadline moves forward by an instant, in an order that mixes the heap. The floor reads the clock and
// looks up the key.
func BenchmarkAddAfter(b *testing.B) {
	sizes(b, func(b *testing.B, keys []benchKey) {
		b.Run("deadline=later", func(b *testing.B) {
			forEach(b, func(b *testing.B, q benchQueue) {
				delayAll(q, keys, 0)
				for i := 0; b.Loop(); i++ {
					q.AddAfter(keys[i%len(keys)], time.Hour)
				}
			})
		})
		b.Run("deadline=sooner", func(b *testing.B) {
			forEach(b, func(b *testing.B, q benchQueue) {
				delayAll(q, keys, time.Second)
				for i := 0; b.Loop(); i++ {
					n := i * 7919 % len(keys)
					q.AddAfter(keys[n], time.Hour+time.Duration(n)*time.Second-time.Duration(i)*time.Microsecond)
				}
			})
			b.Run("impl=floor", func(b *testing.B) {
				b.ReportAllocs()
				f, epoch, sum := newFloor(keys), time.Now(), time.Duration(0)
				for i := 0; b.Loop(); i++ {
					sum += time.Since(epoch) + time.Duration(f.lookUp(keys[i*7919%len(keys)]))
				}
			})
		})
	})
}

// delayAll makes the keys due from an hour on, one after the other.
func delayAll(q benchQueue, keys []benchKey, apart time.Duration) {
	for i, k := range keys {
		q.AddAfter(k, time.Hour+time.Duration(i)*apart)
	}
}

// One op is one more key in the heap: an empty queue fills with 10,000 that are due at different times, in an order
// that mixes the heap, and gives way to another one, with the clock stopped. The last key is due at once and is taken,
// so that all others have arrived in the heap, also where they go through a channel. To grow is part of the op.
func BenchmarkAddAfter_NewKeys(b *testing.B) {
	keys := benchKeys(10_000)
	last := len(keys) - 1
	for _, queue := range benchQueues {
		b.Run("impl="+queue.impl, func(b *testing.B) {
			b.ReportAllocs()
			q, delayed := queue.make(time.Hour), 0
			for b.Loop() {
				if delayed < last {
					q.AddAfter(keys[delayed], time.Hour+time.Duration(delayed*7919%last)*time.Second)
					delayed++
					continue
				}
				q.AddAfter(keys[last], time.Nanosecond)
				q.Get()
				b.StopTimer()
				q.ShutDown()
				q, delayed = queue.make(time.Hour), 0
				b.StartTimer()
			}
			q.ShutDown()
		})
	}
}

// One op adds a key that is due after a nanosecond, gets it and is done with it, all in one goroutine: Get finds the
// key due, or waits for the queue to find it so.
func BenchmarkAddAfter_DueAtOnce(b *testing.B) {
	keys := benchKeys(1_000)
	forEach(b, func(b *testing.B, q benchQueue) {
		for i := 0; b.Loop(); i++ {
			q.AddAfter(keys[i%len(keys)], time.Nanosecond)
			item, _ := q.Get()
			q.Done(item)
		}
	})
}

// One op is a key of 10,000 that are due at different times within the next millisecond: added, taken and done.
func BenchmarkAddAfter_DueWithinAMillisecond(b *testing.B) {
	keys := benchKeys(10_000)
	forEach(b, func(b *testing.B, q benchQueue) {
		delayed := 0
		take := func() {
			for ; delayed > 0; delayed-- {
				item, _ := q.Get()
				q.Done(item)
			}
		}
		for b.Loop() {
			q.AddAfter(keys[delayed], time.Duration(delayed*7919%1000+1)*time.Microsecond)
			if delayed++; delayed == len(keys) {
				take()
			}
		}
		b.StartTimer() // b.Loop has stopped it; the last keys are taken as the others are
		take()
		b.StopTimer()
	})
}

// One op is a worker's failure: it gets one of a thousand keys, has it retried and is done with it. The limiter counts,
// and says a nanosecond or two, so that each key comes back by way of the delays.
func BenchmarkRetry(b *testing.B) {
	keys := benchKeys(1_000)
	for _, queue := range benchQueues {
		b.Run("impl="+queue.impl, func(b *testing.B) {
			q := queue.make(time.Nanosecond)
			defer q.ShutDown()
			for _, k := range keys {
				q.Add(k)
			}
			b.ReportAllocs()
			for b.Loop() {
				item, _ := q.Get()
				q.AddRateLimited(item)
				q.Done(item)
			}
		})
	}
}

// One op is one more retry of a key that waits for the one before: the limiter counts, the sooner deadline stays. For a
// retry that comes to something see BenchmarkRetry. The floor looks up the key's count and the key, under a lock each.
func BenchmarkAddRateLimited(b *testing.B) {
	sizes(b, func(b *testing.B, keys []benchKey) {
		forEach(b, func(b *testing.B, q benchQueue) {
			for _, k := range keys {
				q.AddRateLimited(k)
			}
			for i := 0; b.Loop(); i++ {
				q.AddRateLimited(keys[i%len(keys)])
			}
		})
		b.Run("impl=floor", func(b *testing.B) {
			b.ReportAllocs()
			counts, known := newFloor(keys), newFloor(keys)
			for i := 0; b.Loop(); i++ {
				counts.lookUp(keys[i%len(keys)])
				known.lookUp(keys[i%len(keys)])
			}
		})
	})
}
