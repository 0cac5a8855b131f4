// Command 08b-backlog gives queues 2,000 items at once: how long each gets and stays, and what a channel does instead.
package main

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"glasswatch/cmd/internal/demo"
	"glasswatch/workqueue"
	"glasswatch/workqueue/limiters"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "08b-backlog", Title: "Two thousand items at once, in three queues and in a channel",
	Layer: "workqueue/queue.go", Next: "docs/learn/tour.md, chapter 7",
	Tell: demo.Steps(lengths, channel)}

// many is how many items each queue gets at once, and span the time over which the delays spread.
const (
	many = 2000
	span = 500 * time.Millisecond
)

type anyQueue interface {
	Get() (string, bool)
	Done(string)
	Len() int
	Stats() workqueue.Stats
	ShutDown()
}

func lengths(ctx context.Context, d *demo.Demo) {
	d.Step("The length of three queues over time: 2,000 items at once, a column each 25 ms")
	plain := workqueue.New(workqueue.Options[string]{})
	delaying := workqueue.NewDelaying(workqueue.Options[string]{})
	bucket := limiters.NewBucketRateLimiter[string](rate.NewLimiter(rate.Every(span/many), many/10)) // 200 at once
	limited := workqueue.NewRateLimiting(workqueue.Options[string]{RateLimiter: bucket})
	for _, t := range []struct {
		name  string
		queue anyQueue
		add   func(item string, n int)
	}{
		{"plain, Add", plain, func(item string, _ int) { plain.Add(item) }},
		{"delaying, AddAfter", delaying, func(item string, n int) { delaying.AddAfter(item, span/5+time.Duration(n)*span/many) }},
		{"rate-limited", limited, func(item string, _ int) { limited.AddRateLimited(item) }},
	} {
		for n := range many {
			t.add(strconv.Itoa(n), n)
		}
		waiting := t.queue.Stats().Delayed > many/2
		ready, delayed, taken := curves(ctx, d, t.queue)
		demo.Check(shape(t.name, ready, delayed))
		d.Saw("%-18s ready   %s\n%-18s delayed %s", t.name, ready, "", delayed)
		left := t.queue.Stats()
		d.Saw("to begin with most are delayed: %t; in the end taken %d, ready %d, delayed %d", waiting, taken, left.Queued, left.Delayed)
		t.queue.ShutDown()
	}
	d.Why("a plain queue holds all that came and is not done yet. A delayed item waits in a heap, which has one timer and no goroutine. " +
		"Len counts only what is ready, so a metric of it does not show what will come")
}

// curves empties a queue, 4,000 items a second at most, and draws what is in it meanwhile.
func curves(ctx context.Context, d *demo.Demo, queue anyQueue) (ready, delayed string, taken int) {
	bars := []rune("▁▂▃▄▅▆▇█")
	draw := func() {
		stats := queue.Stats()
		ready += string(bars[(stats.Queued*7+many-1)/many])
		delayed += string(bars[(stats.Delayed*7+many-1)/many])
	}
	draw() // before the first is taken
	var done atomic.Int64
	stop := d.Go(ctx, func(ctx context.Context) {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			<-ticker.C
			for n := 0; n < 20 && queue.Len() > 0; n++ {
				item, _ := queue.Get()
				queue.Done(item)
				done.Add(1)
			}
		}
	})
	defer stop()
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for range 25 {
		<-ticker.C
		draw()
	}
	demo.Until(ctx, "the queue is empty", func() bool { return done.Load() >= many })
	return ready, delayed, int(done.Load())
}

func channel(ctx context.Context, d *demo.Demo) {
	d.Step("A channel of 1,000 instead of a queue")
	keys := make(chan string, 1000)
	accepted := 0
	for full := false; !full; {
		select {
		case keys <- "default/cart":
			accepted++
		default:
			full = true
		}
	}
	d.Saw("default/cart added 2,000 times: a queue holds 1, the channel %d, and whoever adds the next waits", accepted)

	// The handler goes on adding, and the one worker puts back what fails, as AddRateLimited would.
	var handler, worker atomic.Bool
	stopHandler := d.Go(ctx, func(ctx context.Context) {
		for range many - accepted {
			handler.Store(true)
			select {
			case keys <- "default/cart":
			case <-ctx.Done(): // a program has no such way out
				return
			}
			handler.Store(false)
		}
	})
	defer stopHandler()
	stopWorker := d.Go(ctx, func(ctx context.Context) {
		key := <-keys
		for len(keys) < cap(keys) && ctx.Err() == nil { // the handler is faster than the work
			time.Sleep(time.Millisecond)
		}
		worker.Store(true)
		select {
		case keys <- key: // it failed: again, later
		case <-ctx.Done():
		}
		worker.Store(false)
	})
	defer stopWorker()
	demo.Until(ctx, "both send", func() bool { return handler.Load() && worker.Load() && len(keys) == cap(keys) })
	d.Saw("the handler waits for a place, and so does the worker, which alone could make one: a deadlock")
	d.Why("a queue needs a place for each key, not for each event, so its Add never waits. A goroutine for each send only hides the " +
		"deadlock: goroutines pile up instead, in no order, each with an outdated key")
}
