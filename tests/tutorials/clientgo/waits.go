package clientgo

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"

	"glasswatch/tests/tutorials/play"
)

// Waits calls Get on an empty queue: it waits until there is an item, or until the queue is shut down. In a program of one goroutine the
// runtime calls that a deadlock. A goroutine of anything else, such as that of client-go's delaying queue, hides it: the program only hangs.
//
// Often said: "ask Len first, then Get will not wait". Two workers may both see the one item.
func Waits(p *play.Play) {
	queue := workqueue.NewTyped[string]()
	worker := func(name string) func(context.Context) {
		return func(context.Context) {
			p.Print("%s  %s: Len %d, so Get will not wait?", p.Time(), name, queue.Len())
			time.Sleep(time.Second)
			item, shutdown := queue.Get()
			p.Print("%s  %s: Get: %q, shutdown %t", p.Time(), name, item, shutdown)
		}
	}
	queue.Add("a")
	p.Go(worker("first"))
	p.Pass(time.Millisecond)
	p.Go(worker("second"))
	p.Pass(30 * time.Minute)
	queue.Add("b")
	p.Pass(0)
	p.Go(worker("third"))
	p.Pass(30 * time.Minute)
	queue.ShutDown()
	p.Pass(0)
}
