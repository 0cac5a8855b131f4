package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/observe"
)

// errExited is the failure of a reconcile that called runtime.Goexit, as a failed assertion of a test does.
var errExited = errors.New("reconcile ended its goroutine")

// work reconciles one key after the other until the queue is shut down and empty. If a reconcile ends the goroutine,
// another worker takes its place; without one a drain could wait forever.
func (c *Controller[K]) work(ctx context.Context, workers *sync.WaitGroup) {
	returned := false
	defer func() {
		if !returned { // A reconcile called runtime.Goexit.
			workers.Go(func() { c.work(ctx, workers) })
		}
	}()
	for more := true; more; {
		more = c.next(ctx)
	}
	returned = true
}

// next takes one key and reconciles it. It returns false if no more keys will come.
func (c *Controller[K]) next(ctx context.Context) bool {
	key, priority, shutdown := c.queue.GetWithPriority()
	if shutdown {
		return false
	}
	defer c.queue.Done(key) // last of all: a key that is put off below is still in processing
	if ctx.Err() != nil {
		c.leftUndone.Add(1)
		return true
	}
	c.observe(observe.Taken, "Get", key, nil)
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "key", key))

	start := time.Now()
	if c.opts.Metrics != nil {
		c.opts.Metrics.Began()
	}
	var result Result
	err := errExited // unless reconcile returns
	defer func() {
		took := time.Since(start)
		kind := "ok"
		if err != nil {
			kind = "failed"
		}
		c.observe(observe.Reconciled, kind, key, err)
		ended := c.settle(ctx, key, priority, result, err)
		if c.opts.Metrics != nil {
			c.opts.Metrics.Ended(ended, took, err)
		}
	}()
	result, err = reconcile(ctx, c.reconciler, key)
	return true
}

// settle decides what happens to a key that was reconciled, and returns the result, one of the constants. Whatever that
// is, an Enqueue during the reconcile is kept, and the key comes again.
func (c *Controller[K]) settle(ctx context.Context, key K, priority int, result Result, err error) string {
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
			return ResultSuccess
		}
		c.putOff(key, result.RequeueAfter, priority)
		return ResultRequeueAfter
	case IsTerminal(err) && !isPanic: // the value of a panic may be a Terminal error
		c.forget(key)
		logger.Error(err, "Reconcile failed for good, not retrying")
		return ResultTerminal
	case ctx.Err() != nil:
		c.cutShort.Add(1)
		logger.Info("Reconcile was cut short by the shutdown", "err", err)
		return ResultCancelled
	case c.opts.MaxRetries > 0 && c.queue.NumRequeues(key) >= c.opts.MaxRetries:
		c.forget(key)
		logger.Error(err, "Reconcile failed too often, dropping the key until it is enqueued again",
			"retries", c.opts.MaxRetries)
		return ResultDropped
	case c.queue.ShuttingDown():
		logger.Error(err, "Reconcile failed, not retrying because of the shutdown")
		return ResultFailed
	}
	delay := c.opts.RateLimiter.When(key) // the queue's limiter; AddRateLimited would not say the delay
	logger.Error(err, "Reconcile failed, will be retried", "retry", c.queue.NumRequeues(key), "after", delay)
	c.putOff(key, delay, priority)
	return ResultFailed
}

func (c *Controller[K]) forget(key K) {
	c.queue.Forget(key)
	c.observe(observe.Forgotten, "Forget", key, nil)
}

func (c *Controller[K]) putOff(key K, delay time.Duration, priority int) {
	c.observeAdd(observe.PutOff, key, delay)
	c.queue.AddAfterWithPriority(key, delay, priority)
}
