package workqueue_test

import (
	"sync"
	"testing"
)

// One op is an item that one of four producers adds and one of four consumers takes and is done with. Each item is
// another one for a million adds, so that every queue hands out as many as were added.
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

func (c crossing) take(i int) {
	if i%permit == 0 && c.permits != nil {
		<-c.permits
	}
}

func (c crossing) giveBack(i int) {
	if i%permit == 0 && c.permits != nil {
		c.permits <- struct{}{}
	}
}

func produceAndConsume(b *testing.B, c crossing, add func(benchKey), get func() (benchKey, bool), end func()) {
	const names = 1000
	keys := benchKeys(names)
	var producers, consumers sync.WaitGroup
	for range 4 {
		consumers.Go(func() {
			for i := 1; ; i++ {
				if _, ok := get(); !ok {
					return
				}
				c.giveBack(i)
			}
		})
	}
	b.ResetTimer()
	for p := range 4 {
		producers.Go(func() {
			for i := p; i < b.N; i += 4 {
				c.take(i / 4)
				add(benchKey{Namespace: keys[i/names%names].Name, Name: keys[i%names].Name})
			}
		})
	}
	producers.Wait()
	end()
	consumers.Wait()
}
