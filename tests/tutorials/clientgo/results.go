package clientgo

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/workqueue"

	"glasswatch/tests/tutorials/play"
)

// result is what a reconcile returns in tutorials of controller-runtime, beside an error.
type result struct {
	requeue      bool
	requeueAfter time.Duration
}

// Results plays the four things that a reconcile can return, and what the worker makes of each: done is forgotten; an error, and Requeue,
// come back later each time; RequeueAfter comes back when it says, and is no failure.
//
// Often said: "Requeue: true tries again at once". It backs off like an error, without a line in the log. controller-runtime has deprecated
// it; our Result does not have it.
//
// Differs: the native Result has RequeueAfter only. Whoever waits for something says how long, or returns the error.
func Results(p *play.Play) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Hour)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	tries := map[string]int{}
	reconcile := func(key string) (result, error) {
		tries[key]++
		p.Print("%s  %s, retries so far %d", p.Time(), key, queue.NumRequeues(key))
		switch {
		case tries[key] > 3 || key == "done":
			return result{}, nil
		case key == "error":
			return result{}, errors.New("not yet")
		case key == "Requeue":
			return result{requeue: true}, nil
		}
		return result{requeueAfter: time.Minute}, nil
	}
	p.Go(func(context.Context) {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			result, err := reconcile(key)
			switch {
			case err != nil || result.requeue:
				queue.AddRateLimited(key)
			case result.requeueAfter > 0:
				queue.Forget(key)
				queue.AddAfter(key, result.requeueAfter)
			default:
				queue.Forget(key)
			}
			queue.Done(key)
		}
	})
	for _, key := range []string{"done", "error", "Requeue", "RequeueAfter"} {
		queue.Add(key)
		p.Pass(10 * time.Minute)
	}
	queue.ShutDown()
}
