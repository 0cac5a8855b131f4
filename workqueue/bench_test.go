package workqueue

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"
)

type benchQueue = clientgo.TypedRateLimitingInterface[types.NamespacedName]

// forBoth runs the same workload on both queues, side by side for benchstat -col /impl. Both limiters only count.
func forBoth(b *testing.B, f func(b *testing.B, q benchQueue)) {
	b.Run("impl=glasswatch", func(b *testing.B) {
		q := NewRateLimiting(Options[types.NamespacedName]{
			RateLimiter: NewItemExponentialFailureRateLimiter[types.NamespacedName](time.Hour, 2*time.Hour),
		})
		defer q.ShutDown()
		b.ReportAllocs()
		f(b, q)
	})
	b.Run("impl=client-go", func(b *testing.B) {
		q := clientgo.NewTypedRateLimitingQueue(
			clientgo.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](time.Hour, 2*time.Hour))
		defer q.ShutDown()
		b.ReportAllocs()
		f(b, q)
	})
}

func benchKeys(n int) []types.NamespacedName {
	keys := make([]types.NamespacedName, n)
	for i := range keys {
		keys[i] = types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i%10), Name: fmt.Sprintf("service-%d", i)}
	}
	return keys
}

func BenchmarkAddGetDone(b *testing.B) {
	forBoth(b, func(b *testing.B, q benchQueue) {
		keys, i := benchKeys(1000), 0
		for b.Loop() {
			q.Add(keys[i%len(keys)])
			item, _ := q.Get()
			q.Done(item)
			i++
		}
	})
}

// The queue holds 1,000 items all the time, so that Add, Get and Done meet filled maps.
func BenchmarkAddGetDone_Filled(b *testing.B) {
	forBoth(b, func(b *testing.B, q benchQueue) {
		keys := benchKeys(2000)
		for _, k := range keys[:1000] {
			q.Add(k)
		}
		i := 1000
		for b.Loop() {
			q.Add(keys[i%len(keys)])
			item, _ := q.Get()
			q.Done(item)
			i++
		}
	})
}

// Every item is another one for a million adds, so that both queues hand out as many as were added.
func BenchmarkAddGetDone_FourProducersFourConsumers(b *testing.B) {
	const names = 1000
	forBoth(b, func(b *testing.B, q benchQueue) {
		keys := benchKeys(names)
		var producers, consumers sync.WaitGroup
		for range 4 {
			consumers.Go(func() {
				for {
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					q.Done(item)
				}
			})
		}
		b.ResetTimer()
		for p := range 4 {
			producers.Go(func() {
				for i := p; i < b.N; i += 4 {
					q.Add(types.NamespacedName{Namespace: keys[i/names%names].Name, Name: keys[i%names].Name})
				}
			})
		}
		producers.Wait()
		q.ShutDown()
		consumers.Wait()
	})
}

func BenchmarkAddAfter_10kKeys(b *testing.B) {
	forBoth(b, func(b *testing.B, q benchQueue) {
		keys, i := benchKeys(10_000), 0
		for b.Loop() {
			// Each key's deadline comes an instant sooner than the one it has, in an order that mixes the heap.
			n := i * 7919 % len(keys)
			q.AddAfter(keys[n], time.Hour+time.Duration(n)*time.Second-time.Duration(i)*time.Microsecond)
			i++
		}
	})
}

func BenchmarkAddRateLimited_10kKeys(b *testing.B) {
	forBoth(b, func(b *testing.B, q benchQueue) {
		keys, i := benchKeys(10_000), 0
		for b.Loop() {
			q.AddRateLimited(keys[i%len(keys)])
			i++
		}
	})
}
