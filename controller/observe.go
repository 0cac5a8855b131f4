package controller

import (
	"time"

	"glasswatch/observe"
	"glasswatch/workqueue"
)

// The results of a reconcile, as [Metrics].Ended gets them.
const (
	ResultSuccess      = "success"
	ResultRequeueAfter = "requeue_after" // but in a drain the key does not come again
	ResultFailed       = "error"         // retried, but not in a drain
	ResultTerminal     = "terminal"      // not to be retried
	ResultDropped      = "dropped"       // retried too often
	ResultCancelled    = "cancelled"     // failed after the drain timeout
)

// observeAdd reports a key before it enters the queue, unless the queue drains. If it were reported after, Taken could
// come first.
func (c *Controller[K]) observeAdd(step observe.Step, key K, delay time.Duration) {
	if c.opts.Observe == nil || c.queue.ShuttingDown() {
		return
	}
	kind := "Add"
	if delay > 0 || step == observe.PutOff {
		kind = "AddAfter"
	}
	c.opts.Observe([]observe.Observation[K]{{
		Step: step, From: c.opts.Name, Kind: kind, Key: key, Delay: delay,
	}})
}

func (c *Controller[K]) observe(step observe.Step, kind string, key K, err error) {
	if c.opts.Observe != nil {
		c.opts.Observe([]observe.Observation[K]{{
			Step: step, From: c.opts.Name, Kind: kind, Key: key, Err: err,
		}})
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
