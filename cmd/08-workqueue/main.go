// Command 08-workqueue adds and takes single items: which are merged, come back or wait, and how a queue ends.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/sets"

	"glasswatch/cmd/internal/demo"
	"glasswatch/workqueue"
	"glasswatch/workqueue/limiters"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "08-workqueue", Title: "What is to be done, each item by one worker at a time",
	Layer: "workqueue/queue.go", Next: "docs/learn/tour.md, chapter 7",
	Tell: demo.Steps(folds, twoSets, shutsDown, delays, limits, priority)}

func folds(ctx context.Context, d *demo.Demo) {
	d.Step("Dedupe: equal structs fold, pointers do not")
	demo.Check(ctx.Err()) // Get knows nothing of Ctrl-C
	type request struct{ namespace, name string }
	structs, pointers := workqueue.New(workqueue.Options[request]{}), workqueue.New(workqueue.Options[*request]{})
	for range 3 {
		structs.Add(request{"default", "cart"})
		pointers.Add(&request{"default", "cart"})
	}
	d.Saw("default/cart added 3 times: to take %d struct, %d pointers", structs.Len(), pointers.Len())
	d.Why("items are compared with ==: three pointers are three items, and so three workers at once may have one object")
}

func twoSets(_ context.Context, d *demo.Demo) {
	d.Step("The dirty and the processing set after each call, and Done without Get")
	q, dirty, processing := workqueue.New(workqueue.Options[string]{}), sets.New[string](), sets.New[string]()
	join := func(s sets.Set[string]) string { return strings.Join(sets.List(s), " ") }
	for _, call := range strings.Split("Add a,Add a,Add b,Get,Add a,Get,Done b,Done a,Get,Done a,Add c,Done c", ",") {
		verb, item, _ := strings.Cut(call, " ")
		switch verb {
		case "Add":
			q.Add(item)
			dirty.Insert(item)
		case "Get":
			item, _ = q.Get()
			call += ": " + item
			dirty.Delete(item)
			processing.Insert(item)
		case "Done":
			q.Done(item)
			processing.Delete(item)
		}
		if s := q.Stats(); s.Queued != dirty.Difference(processing).Len() || s.Processing != processing.Len() {
			demo.Check(fmt.Errorf("%s: the queue has %+v, want dirty %v and processing %v", call, s, dirty, processing))
		}
		d.Saw("%-6s  dirty {%-3s}  processing {%-3s}  Len %d", call, join(dirty), join(processing), q.Len())
	}
	d.Why("Len counts what is dirty and with nobody; what is in both sets waits for its Done: a has one worker at a time.\n" +
		"c was never taken: Done does nothing here, while client-go queues it twice and two workers may have it: " +
		"compat/workqueue/story_test.go plays both")
}

func shutsDown(_ context.Context, d *demo.Demo) {
	d.Step("Shutdown, and a drain that waits for the workers")
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	drained, over := context.WithCancel(context.Background())
	q.Add("a")
	q.AddAfter("b", time.Hour)
	q.Get()
	q.Add("a")
	go func() { q.ShutDownWithDrain(); over() }()
	for !q.ShuttingDown() {
		time.Sleep(time.Millisecond)
	}
	q.Add("c")
	d.Did("added a, took it, added it again; added b for in an hour; began to drain; added c")
	saw := func(call string) {
		s := q.Stats()
		d.Saw("%-7s processing %d, to take %d, delayed %d, drained %t", call, s.Processing, s.Queued, s.Delayed, drained.Err() != nil)
	}
	saw("Add c")
	q.Done("a")
	saw("Done a")
	item, _ := q.Get()
	saw("Get: " + item)
	q.Done(item)
	<-drained.Done()
	_, shutdown := q.Get()
	saw(fmt.Sprintf("Done a, then Get: shutdown %t;", shutdown))
	d.Why("what was due is still done; the delayed is dropped, for the next start finds it by listing; c came too late")
}

func delays(_ context.Context, d *demo.Demo) {
	d.Step("Delays: by deadline, and of two the sooner")
	q, start := workqueue.NewDelaying(workqueue.Options[string]{}), time.Now()
	q.AddAfter("b", time.Hour)
	q.Add("b")
	item, _ := q.Get()
	q.Done(item)
	d.Saw("b for in an hour and b for at once: %s taken, delayed %d", item, q.Stats().Delayed)
	q.AddAfter("b", 200*time.Millisecond)
	q.AddAfter("a", 5*time.Millisecond)
	for range 2 {
		item, _ = q.Get()
		d.Saw("b for in 200ms, a for in 5ms: %s after %s", item, time.Since(start).Round(time.Millisecond))
		q.Done(item)
	}
	d.Why("Add keeps what AddAfter has promised, unless Options.MergeDelayed makes them one; a sooner AddAfter replaces it")
}

// asked shows the delays of a rate limiter for several items: a dot for each minute.
func asked(d *demo.Demo, limiter workqueue.RateLimiter[string], items string) {
	for _, item := range strings.Split(items, "") {
		wait := strings.Repeat("·", int(limiter.When(item).Round(time.Minute)/time.Minute))
		d.Saw("%s, retry %d: %s●", item, limiter.NumRequeues(item), wait)
	}
}

func limits(_ context.Context, d *demo.Demo) {
	d.Step("AddRateLimited is AddAfter with what a limiter says: a token bucket's timeline")
	asked(d, limiters.NewBucketRateLimiter[string](rate.NewLimiter(rate.Every(time.Minute), 3)), "abcdea")
	d.Why("three tokens to begin with, and one more each minute, for all items together")
	d.Step("Backoff grows, for each item by itself, till Forget")
	limiter := limiters.NewItemExponentialFailureRateLimiter[string](time.Minute, 9*time.Minute)
	asked(d, limiter, "aaaaab")
	limiter.Forget("a")
	d.Did("Forget a: who succeeds and is not forgotten waits the longest at the next failure")
	asked(d, limiter, "a")
}

func priority(_ context.Context, d *demo.Demo) {
	d.Step("Priority")
	q := workqueue.New(workqueue.Options[string]{})
	q.AddWithPriority("a", -100)
	q.AddWithPriority("b", -100)
	q.Add("live")
	q.AddWithPriority("live", -100)
	q.Add("b")
	d.Did("added a and b with priority -100, live with 0 and with -100, b with 0")
	for q.Len() > 0 {
		item, level, _ := q.GetWithPriority()
		d.Saw("%-4s priority %4d", item, level)
		q.Done(item)
	}
	d.Why("the highest first, within a level first in first out; an item is raised and never lowered")
}
