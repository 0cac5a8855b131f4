package workqueue_test

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"glasswatch/workqueue"
	"glasswatch/workqueue/limiters"
)

// A worker that retries what fails, and a shutdown that waits for it.
func Example() {
	q := workqueue.NewRateLimiting(workqueue.Options[string]{
		RateLimiter: limiters.NewItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second),
	})
	fails := 2
	process := func(item string) error {
		if item == "flaky" && fails > 0 {
			fails--
			return errors.New("not yet")
		}
		return nil
	}

	var left, worker sync.WaitGroup
	worker.Go(func() {
		for {
			item, shutdown := q.Get()
			if shutdown {
				return
			}
			if err := process(item); err != nil {
				fmt.Printf("%s: %v, tried %d times before\n", item, err, q.NumRequeues(item))
				q.AddRateLimited(item)
			} else {
				fmt.Printf("%s: done\n", item)
				q.Forget(item)
				left.Done()
			}
			q.Done(item)
		}
	})

	left.Add(1)
	q.Add("flaky")
	left.Wait()
	q.ShutDownWithDrain()
	worker.Wait()
	// Output:
	// flaky: not yet, tried 0 times before
	// flaky: not yet, tried 1 times before
	// flaky: done
}

// Live changes overtake the backlog of an initial list.
func ExampleQueue_AddWithPriority() {
	q := workqueue.New(workqueue.Options[string]{})
	for _, item := range []string{"listed 1", "listed 2", "listed 3"} {
		q.AddWithPriority(item, -100)
	}
	q.Add("changed just now")
	q.Add("listed 3") // and it changed, too
	for q.Len() > 0 {
		item, _ := q.Get()
		fmt.Println(item)
		q.Done(item)
	}
	// Output:
	// changed just now
	// listed 3
	// listed 1
	// listed 2
}
