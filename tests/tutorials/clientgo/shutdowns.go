package clientgo

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"

	"glasswatch/tests/tutorials/play"
)

// ShutDowns shuts a queue down in both ways, and prints each Get afterwards beside both flags. ShuttingDown says that nothing more is
// taken in. The flag of Get says that nothing more comes out: a worker ends at the second, not at the first. ShutDownWithDrain waits for the
// items that workers have taken, and for no others.
//
// Often said: "after ShutDown the queue is empty", and "the drain finishes all items". What was queued can still be taken after both, and
// somebody must. The native queue's drain waits for that, too, unless DrainTaken is set as here; cmd/08-workqueue plays it.
func ShutDowns(p *play.Play) {
	fill := func() workqueue.TypedInterface[int] {
		queue := workqueue.NewTyped[int]()
		for i := 1; i <= 3; i++ {
			queue.Add(i)
		}
		return queue
	}
	get := func(queue workqueue.TypedInterface[int]) {
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
