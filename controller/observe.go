package controller

import (
	"time"

	"glasswatch/workqueue"
)

// Observation is one step of a key through the controller. See Options.Observe.
type Observation[K comparable] struct {
	// What names the step. In the order in which a key passes through the controller:
	//
	//	"queued"      the key is about to enter the queue: Enqueue or one of its variants was called
	//	"taken"       a worker has taken the key and is about to reconcile it
	//	"reconciled"  the reconcile has returned Err
	//	"forgotten"   the rate limiter has dropped the key's count of retries
	//	"put off"     the key is about to enter the queue again, to be due after Delay
	//
	// Once Run has begun to drain the queue, "queued" and "put off" are not reported: the queue refuses the key.
	What  string
	Key   K
	Delay time.Duration // of "queued" and "put off"; 0 is at once
	Err   error         // of "reconciled"; nil is success
}

// observeAdd reports a key before it enters the queue. If it were reported after, "taken" could come first.
func (c *Controller[K]) observeAdd(what string, key K, delay time.Duration) {
	if c.opts.Observe != nil && !c.queue.ShuttingDown() {
		c.opts.Observe(Observation[K]{What: what, Key: key, Delay: delay})
	}
}

func (c *Controller[K]) observe(what string, key K, err error) {
	if c.opts.Observe != nil {
		c.opts.Observe(Observation[K]{What: what, Key: key, Err: err})
	}
}

// Metrics are hooks. They are called by several goroutines at a time, with no lock held. Package controller/metrics
// implements them for Prometheus.
type Metrics interface {
	workqueue.Metrics
	// Configured is called once, by New. tracked returns how many keys the rate limiter remembers retries of.
	Configured(workers int, tracked func() int)
	// Began is called when a worker begins a reconcile.
	Began()
	// Ended is called when a reconcile has ended, with its duration and its error. The result is success,
	// requeue_after, error (retried, but not in a drain), terminal, dropped (retried too often) or cancelled (failed
	// after the drain timeout).
	Ended(result string, took time.Duration, err error)
}
