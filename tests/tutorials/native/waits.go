package native

import (
	"context"
	"time"

	"glasswatch/tests/tutorials/play"
	"glasswatch/workqueue"
)

// Waits does what its namesake does with a workqueue.Queue.
func Waits(p *play.Play) {
	queue := workqueue.New(workqueue.Options[string]{})
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
