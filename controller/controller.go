package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/observe"
	"glasswatch/workqueue"
)

// ErrAlreadyRun is returned by a second call of [Controller.Run].
var ErrAlreadyRun = errors.New("controller was run before")

// ErrDrainTimeout is returned by [Controller.Run] if the drain took longer than Options.DrainTimeout and work was left
// undone. It is wrapped in an error that says how much.
var ErrDrainTimeout = errors.New("controller was stopped before its work was done")

// Controller reconciles the keys that are enqueued: several at a time, each by one worker at a time. Make it with
// [New]. Its methods are safe for concurrent use.
type Controller[K comparable] struct {
	reconciler Reconciler[K]
	opts       Options[K]
	queue      *workqueue.RateLimitingQueue[K]
	ran        atomic.Bool
	leftUndone atomic.Int64 // keys that were taken after the drain timeout, and not reconciled
	cutShort   atomic.Int64 // reconciles that failed after the drain timeout, but not with Terminal
}

// New returns a controller that calls r once [Controller.Run] is called. r must not be nil.
func New[K comparable](r Reconciler[K], opts Options[K]) *Controller[K] {
	opts.setDefaults()
	queueOptions := workqueue.Options[K]{Name: opts.Name, RateLimiter: opts.RateLimiter, Metrics: opts.Metrics}
	c := &Controller[K]{reconciler: r, opts: opts, queue: workqueue.NewRateLimiting(queueOptions)}
	if opts.Metrics != nil {
		opts.Metrics.Configured(opts.Workers, c.queue.Tracked)
	}
	return c
}

// Name returns Options.Name.
func (c *Controller[K]) Name() string { return c.opts.Name }

// Enqueue asks for a reconcile of key, with priority 0. A key that is queued already is not queued twice. A key that is
// being reconciled is reconciled again afterwards. Enqueue works before Run, does not block, and does nothing once
// Run has begun to drain the queue.
func (c *Controller[K]) Enqueue(key K) { c.EnqueueWithPriority(key, 0) }

// EnqueueWithPriority is Enqueue with another priority; see [LowPriority]. Of two calls the higher priority counts.
func (c *Controller[K]) EnqueueWithPriority(key K, priority int) {
	c.observeAdd(observe.Queued, key, 0)
	c.queue.AddWithPriority(key, priority)
}

// EnqueueAfter is Enqueue after d. Of two calls for the same key the sooner counts. Enqueue does not cancel one that is pending.
func (c *Controller[K]) EnqueueAfter(key K, d time.Duration) {
	c.observeAdd(observe.Queued, key, d)
	c.queue.AddAfter(key, d)
}

// Len returns how many keys are due and were not taken yet.
func (c *Controller[K]) Len() int { return c.queue.Len() }

// Contents copies out the keys that are queued, those that are being reconciled, which are true if they were queued again
// meanwhile, and when the delayed ones are due. It holds the queue's lock while it copies.
func (c *Controller[K]) Contents() (queued []K, processing map[K]bool, delayed map[K]time.Time) {
	return c.queue.Contents()
}

// NumRequeues returns how often key was retried since the rate limiter last forgot it.
func (c *Controller[K]) NumRequeues(key K) int { return c.queue.NumRequeues(key) }

// Run reconciles until ctx is cancelled, and then drains the queue: queued keys are still reconciled, but nothing is
// retried or requeued. After Options.DrainTimeout it cancels the context of the running reconciles and leaves the rest
// of the queue undone. Run returns when every worker has ended, so a reconcile that ignores its context delays it.
//
// The error is nil if every queued key was reconciled in time, even if some failed: a drain retries nothing. It is
// [ErrDrainTimeout] if work was left undone, [ErrAlreadyRun] at a second call.
func (c *Controller[K]) Run(ctx context.Context) error {
	if !c.ran.CompareAndSwap(false, true) {
		return ErrAlreadyRun
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", c.opts.Name)
	// The reconciles have a context of their own, which outlives ctx until the drain timeout. If DrainTimeout is below 0,
	// their context ends with ctx.
	base := klog.NewContext(ctx, logger)
	if c.opts.DrainTimeout > 0 {
		base = context.WithoutCancel(base)
	}
	working, abandon := context.WithCancel(base)
	defer abandon()
	logger.Info("Starting workers", "workers", c.opts.Workers)
	var workers sync.WaitGroup
	for range c.opts.Workers {
		workers.Go(func() { c.work(working, &workers) })
	}
	<-ctx.Done()

	logger.Info("Draining", "queued", c.Len(), "timeout", c.opts.DrainTimeout)
	deadline := time.AfterFunc(c.opts.DrainTimeout, abandon)
	c.queue.ShutDownWithDrain()
	workers.Wait()
	deadline.Stop()
	if left, cut := c.leftUndone.Load(), c.cutShort.Load(); left+cut > 0 {
		return fmt.Errorf("%w: %q cut %d reconciles short and left %d queued keys undone",
			ErrDrainTimeout, c.opts.Name, cut, left)
	}
	logger.Info("Drained")
	return nil
}
