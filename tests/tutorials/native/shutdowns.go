package native

import (
	"context"
	"time"

	"glasswatch/tests/tutorials/play"
	"glasswatch/workqueue"
)

// ShutDowns does what its namesake does with a workqueue.Queue.
func ShutDowns(p *play.Play) {
	fill := func() *workqueue.Queue[int] {
		queue := workqueue.New(workqueue.Options[int]{DrainTaken: true})
		for i := 1; i <= 3; i++ {
			queue.Add(i)
		}
		return queue
	}
	get := func(queue *workqueue.Queue[int]) {
		item, shutdown := queue.Get()
		p.Print("  %s  Get: %d, shutdown %-5t  ShuttingDown: %t", p.Time(), item, shutdown, queue.ShuttingDown())
	}
	p.Print("ShutDown")
	queue := fill()
	get(queue)
	queue.ShutDown()
	queue.Add(4)
	p.Print("  %s  shut down, 4 added too late: Len %d", p.Time(), queue.Len())
	for range 3 {
		get(queue)
	}

	p.Print("ShutDownWithDrain")
	queue = fill()
	get(queue)
	p.Go(func(context.Context) {
		time.Sleep(5 * time.Second)
		queue.Done(1)
	})
	queue.ShutDownWithDrain()
	queue.Add(4)
	p.Print("  %s  1 is done, so the drain is over: Len %d", p.Time(), queue.Len())
	for range 3 {
		get(queue)
	}
}
