package workqueue_test

import (
	"sync"
	"sync/atomic"
	"testing"
)

// One op is an item that a consumer took and is done with: four consumers take b.N of them, while four producers add
// until they have. A queue merges what is added again before it is taken. So a queue whose consumers get the lock less
// often than its producers hands out fewer items for the same number of Adds: comparing Adds would praise it for that.
// handed-out/add is the share of Adds that came to a consumer.
//
// backlog=1000: the producers are at most a thousand items ahead, as where the queue is in a steady state. unlimited:
// whoever gets the lock more often leaves the other one behind, and the queue grows.
//
// The floor hands the items over through a channel.
func BenchmarkAddGetDone_FourProducersFourConsumers(b *testing.B) {
	for _, backlog := range []struct {
		name    string
		permits int
	}{{"backlog=1000", 1_000 / permit}, {"backlog=unlimited", 0}} {
		b.Run(backlog.name, func(b *testing.B) {
			forEach(b, func(b *testing.B, q benchQueue) {
				produceAndConsume(b, newCrossing(backlog.permits), q.Add, func() (benchKey, bool) {
					item, shutdown := q.Get()
					if !shutdown {
						q.Done(item)
					}
					return item, !shutdown
				}, q.ShutDown)
			})
		})
	}
	b.Run("backlog=1000/impl=floor", func(b *testing.B) {
		b.ReportAllocs()
		items := make(chan benchKey, 1_000)
		produceAndConsume(b, newCrossing(0), func(k benchKey) { items <- k },
			func() (benchKey, bool) { k, ok := <-items; return k, ok }, func() { close(items) })
	})
}

// permit is for how many items a producer gets leave at a time: so few are asked for that it costs nothing.
const permit = 50

// crossing keeps producers from running away from consumers.
type crossing struct{ permits chan struct{} }

func newCrossing(permits int) crossing {
	if permits == 0 {
		return crossing{}
	}
	c := crossing{make(chan struct{}, permits)}
	for range permits {
		c.permits <- struct{}{}
	}
	return c
}

// take waits for leave to add the i-th item, or until enough is closed.
func (c crossing) take(i int, enough <-chan struct{}) {
	if i%permit == 0 && c.permits != nil {
		select {
		case <-c.permits:
		case <-enough:
		}
	}
}

// giveBack gives leave for as many items as have been taken. It never blocks: items left over may be more than permits.
func (c crossing) giveBack(i int) {
	if i%permit == 0 && c.permits != nil {
		select {
		case c.permits <- struct{}{}:
		default:
		}
	}
}

func produceAndConsume(b *testing.B, c crossing, add func(benchKey), get func() (benchKey, bool), end func()) {
	const names = 1000
	keys := benchKeys(names)
	var producers, consumers sync.WaitGroup
	var added, handedOut atomic.Int64
	enough := make(chan struct{})
	for range 4 {
		consumers.Go(func() {
			for i := 1; ; i++ {
				if _, ok := get(); !ok {
					return
				}
				n := handedOut.Add(1)
				if n == int64(b.N) {
					close(enough)
				}
				c.giveBack(i)
			}
		})
	}
	b.ResetTimer()
	for p := range 4 {
		producers.Go(func() {
			for i := p; ; i += 4 {
				select {
				case <-enough:
					added.Add(int64(i / 4))
					return
				default:
				}
				c.take(i/4, enough)
				add(benchKey{Namespace: keys[i/names%names].Name, Name: keys[i%names].Name})
			}
		})
	}
	<-enough
	b.StopTimer()
	producers.Wait()
	b.ReportMetric(float64(b.N)/float64(added.Load()), "handed-out/add")
	end()
	consumers.Wait()
}
