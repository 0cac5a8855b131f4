package compat

import (
	"context"
	"sync"
	"time"

	"glasswatch/compat/workqueue"

	"glasswatch/tests/tutorials/play"
)

// Workers lets several workers take a second for each of twelve items. More workers are faster while there are items for all of them.
// One item that is added again and again has one worker at a time, whatever their number.
func Workers(p *play.Play) {
	work := func(workers int, add func(queue workqueue.TypedInterface[int])) (took time.Duration) {
		queue := workqueue.NewTyped[int]()
		add(queue)
		began := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex // protects took
		for range workers {
			wg.Go(func() {
				for {
					item, shutdown := queue.Get()
					if shutdown {
						return
					}
					time.Sleep(time.Second)
					mu.Lock()
					took = time.Since(began)
					mu.Unlock()
					queue.Done(item)
				}
			})
		}
		p.Pass(time.Minute)
		queue.ShutDown()
		wg.Wait()
		return took
	}
	for _, workers := range []int{1, 2, 4, 12, 24} {
		took := work(workers, func(queue workqueue.TypedInterface[int]) {
			for i := range 12 {
				queue.Add(i)
			}
		})
		p.Print("12 items, %2d workers: %s", workers, took)
	}
	took := work(12, func(queue workqueue.TypedInterface[int]) {
		p.Go(func(context.Context) {
			for range 12 {
				queue.Add(1)
				time.Sleep(time.Second / 2)
			}
		})
	})
	p.Print("one item, added every half second, 12 workers: the last ended after %s", took)
}
