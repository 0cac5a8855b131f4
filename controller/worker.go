package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// outcome is how a reconcile ended, and a label of the metric.
type outcome string

const (
	success      outcome = "success"
	requeueAfter outcome = "requeue_after"
	failed       outcome = "error"     // retried, but not in a drain
	terminal     outcome = "terminal"  // not to be retried
	dropped      outcome = "dropped"   // retried too often
	cancelled    outcome = "cancelled" // failed after the drain timeout
)

// errExited is the failure of a reconcile that called runtime.Goexit, as a failed assertion of a test does.
var errExited = errors.New("reconcile ended its goroutine")

// work reconciles one key after the other until the queue is shut down and empty. If a reconcile ends the goroutine,
// another worker takes its place; without one a drain could wait forever.
func (c *Controller[K]) work(ctx context.Context, workers *sync.WaitGroup) {
	done := false
	defer func() {
		if !done {
			workers.Go(func() { c.work(ctx, workers) })
		}
	}()
	for c.next(ctx) {
	}
	done = true
}

// next takes one key and reconciles it. It returns false if no more keys will come.
func (c *Controller[K]) next(ctx context.Context) bool {
	key, priority, shutdown := c.queue.GetWithPriority()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		c.leftUndone.Add(1)
		return true
	}
	c.observe("taken", key, nil)
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "key", key))

	start := time.Now()
	if c.opts.Metrics != nil {
		c.opts.Metrics.Began()
	}
	var result Result
	err := errExited // unless reconcile returns
	defer func() {
		took := time.Since(start)
		c.observe("reconciled", key, err)
		ended := c.settle(ctx, key, priority, result, err)
		if c.opts.Metrics != nil {
			c.opts.Metrics.Ended(string(ended), took, err)
		}
	}()
	result, err = reconcile(ctx, c.reconciler, key)
	return true
}

// settle decides what happens to a key that was reconciled. An Enqueue during the reconcile counts in any case.
func (c *Controller[K]) settle(ctx context.Context, key K, priority int, result Result, err error) outcome {
	logger := klog.FromContext(ctx)
	panicked, isPanic := errors.AsType[*PanicError](err)
	if isPanic {
		logger.Error(err, "Reconcile panicked", "stack", string(panicked.Stack))
	}
	switch {
	case err == nil:
		c.forget(key)
		logger.V(4).Info("Reconciled", "requeueAfter", result.RequeueAfter)
		if result.RequeueAfter <= 0 {
			return success
		}
		c.putOff(key, result.RequeueAfter, priority)
		return requeueAfter
	case IsTerminal(err) && !isPanic:
		c.forget(key)
		logger.Error(err, "Reconcile failed for good, not retrying")
		return terminal
	case ctx.Err() != nil:
		c.cutShort.Add(1)
		logger.Info("Reconcile was cut short by the shutdown", "err", err)
		return cancelled
	case c.opts.MaxRetries > 0 && c.queue.NumRequeues(key) >= c.opts.MaxRetries:
		c.forget(key)
		logger.Error(err, "Reconcile failed too often, dropping the key until it is enqueued again",
			"retries", c.opts.MaxRetries)
		return dropped
	case c.queue.ShuttingDown():
		logger.Error(err, "Reconcile failed, not retrying because of the shutdown")
		return failed
	}
	delay := c.opts.RateLimiter.When(key)
	logger.Error(err, "Reconcile failed, will be retried", "retry", c.queue.NumRequeues(key), "after", delay)
	c.putOff(key, delay, priority)
	return failed
}

func (c *Controller[K]) forget(key K) {
	c.queue.Forget(key)
	c.observe("forgotten", key, nil)
}

func (c *Controller[K]) putOff(key K, delay time.Duration, priority int) {
	c.observeAdd("put off", key, delay)
	c.queue.AddAfterWithPriority(key, delay, priority)
}
