package controller

import (
	"time"

	"glasswatch/workqueue"
)

// The steps of a key, in the order in which it passes through the controller. Once Run has begun to drain the queue, it
// refuses keys, and StepQueued and StepPutOff are not reported. (One that is just being reported may be refused.)
const (
	StepQueued     = "queued"     // about to enter the queue: Enqueue or one of its variants was called
	StepTaken      = "taken"      // a worker has taken the key and is about to reconcile it
	StepReconciled = "reconciled" // the reconcile has returned Err
	StepForgotten  = "forgotten"  // the rate limiter has dropped the key's count of retries
	StepPutOff     = "put off"    // about to enter the queue again, to be due after Delay
)

// Observation is one step of a key through the controller. See Options.Observe.
type Observation[K comparable] struct {
	What  string // one of the steps, such as [StepTaken]
	Key   K
	Delay time.Duration // of StepQueued and StepPutOff; 0 is at once
	Err   error         // of StepReconciled; nil is success
}

// The results of a reconcile, as [Metrics].Ended gets them.
const (
	ResultSuccess      = "success"
	ResultRequeueAfter = "requeue_after" // but in a drain the key does not come again
	ResultFailed       = "error"         // retried, but not in a drain
	ResultTerminal     = "terminal"      // not to be retried
	ResultDropped      = "dropped"       // retried too often
	ResultCancelled    = "cancelled"     // failed after the drain timeout
)

// observeAdd reports a key before it enters the queue. If it were reported after, "taken" could come first.
func (c *Controller[K]) observeAdd(step string, key K, delay time.Duration) {
	if c.opts.Observe != nil && !c.queue.ShuttingDown() {
		c.opts.Observe(Observation[K]{What: step, Key: key, Delay: delay})
	}
}

func (c *Controller[K]) observe(step string, key K, err error) {
	if c.opts.Observe != nil {
		c.opts.Observe(Observation[K]{What: step, Key: key, Err: err})
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
	// Ended is called when a reconcile has ended, with its duration and its error. The result is one of the constants,
	// such as [ResultSuccess].
	Ended(result string, took time.Duration, err error)
}
