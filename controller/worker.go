package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// work reconciles until there will be no more keys. A reconcile that ends the goroutine does not end the work: another
// worker takes over, without which a drain might wait for ever.
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

// next takes one key and reconciles it; false if there will be no more.
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
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "key", key)
	ctx = klog.NewContext(ctx, logger)

	c.metrics.active.Inc()
	start := time.Now()
	var result Result
	err := errExited // unless it comes back
	defer func() {
		c.metrics.duration.Observe(time.Since(start).Seconds())
		c.metrics.active.Dec()
		c.metrics.results.WithLabelValues(string(c.settle(ctx, key, priority, result, err))).Inc()
	}()
	result, err = reconcile(ctx, c.reconciler, key)
	return true
}

// errExited is the failure of a reconcile that called runtime.Goexit, as a failed assertion of a test does.
var errExited = errors.New("reconcile ended its goroutine")

// outcome is the result label of the metric.
type outcome string

const (
	success      outcome = "success"
	requeueAfter outcome = "requeue_after"
	failed       outcome = "error"
	terminal     outcome = "terminal"
	dropped      outcome = "dropped"
	cancelled    outcome = "cancelled"
)

// settle decides what becomes of a key that was reconciled. Whatever it decides, an Enqueue that came meanwhile counts.
func (c *Controller[K]) settle(ctx context.Context, key K, priority int, result Result, err error) outcome {
	logger := klog.FromContext(ctx)
	var panicked *PanicError
	if errors.As(err, &panicked) {
		c.metrics.panics.Inc()
		logger.Error(err, "Reconcile panicked", "stack", string(panicked.Stack))
	}
	switch {
	case err == nil && result.RequeueAfter > 0:
		c.queue.Forget(key)
		c.queue.AddAfterWithPriority(key, result.RequeueAfter, priority)
		logger.V(4).Info("Reconciled, to be looked at again", "requeueAfter", result.RequeueAfter)
		return requeueAfter
	case err == nil:
		c.queue.Forget(key)
		logger.V(4).Info("Reconciled")
		return success
	case IsTerminal(err) && panicked == nil:
		c.queue.Forget(key)
		logger.Error(err, "Reconcile failed for good, not retrying until the key is enqueued again")
		return terminal
	case ctx.Err() != nil:
		c.cutShort.Add(1)
		logger.Info("Reconcile was cut short by the shutdown", "err", err)
		return cancelled
	case c.opts.MaxRetries > 0 && c.queue.NumRequeues(key) >= c.opts.MaxRetries:
		c.queue.Forget(key)
		logger.Error(err, "Reconcile failed too often, dropping the key until it is enqueued again", "retries", c.opts.MaxRetries)
		return dropped
	}
	c.retry(ctx, key, priority, err)
	return failed
}

// retry asks the limiter itself, and not through the queue, to be able to log the delay.
func (c *Controller[K]) retry(ctx context.Context, key K, priority int, err error) {
	logger := klog.FromContext(ctx)
	if c.queue.ShuttingDown() {
		logger.Error(err, "Reconcile failed, not retrying because of the shutdown")
		return
	}
	delay := c.opts.RateLimiter.When(key)
	logger.Error(err, "Reconcile failed, will be retried", "retry", c.queue.NumRequeues(key), "after", delay)
	c.queue.AddAfterWithPriority(key, delay, priority)
}
