package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/workqueue"
)

// ErrAlreadyRun is returned by a second call of [Controller.Run].
var ErrAlreadyRun = errors.New("controller was run before")

// ErrDrainTimeout is returned by [Controller.Run] if something was left undone because the drain took longer than
// Options.DrainTimeout. It is wrapped in an error that says how much.
var ErrDrainTimeout = errors.New("controller was stopped before its work was done")

// Controller reconciles the keys that are enqueued, a number of them at a time and each by one worker at a time. Make it
// with [New]; its methods are safe for concurrent use.
type Controller[K comparable] struct {
	reconciler Reconciler[K]
	opts       Options[K]
	queue      *workqueue.RateLimitingQueue[K]
	metrics    *metrics
	ran        atomic.Bool
	leftUndone atomic.Int64 // keys that were taken after the drain was cut short
	cutShort   atomic.Int64 // reconciles that failed because of it
}

// New returns a controller that calls r, which must not be nil, once [Controller.Run] is called.
func New[K comparable](r Reconciler[K], opts Options[K]) *Controller[K] {
	opts.setDefaults()
	c := &Controller[K]{reconciler: r, opts: opts}
	queueOptions := workqueue.Options[K]{Name: opts.Name, RateLimiter: opts.RateLimiter}
	if opts.Registerer != nil {
		queueOptions.Metrics = NewQueueMetrics(opts.Registerer, opts.Name)
	}
	c.queue = workqueue.NewRateLimiting(queueOptions)
	c.metrics = newMetrics(opts.Registerer, opts.Name, opts.Workers, c.queue.Tracked)
	return c
}

// Name returns Options.Name.
func (c *Controller[K]) Name() string { return c.opts.Name }

// Enqueue asks for key to be reconciled, ahead of keys of a lower priority than 0. A key that waits already is not queued
// twice; one that is being reconciled is reconciled again after. It does not block, works before Run, and does nothing once
// Run was told to stop.
func (c *Controller[K]) Enqueue(key K) { c.queue.Add(key) }

// EnqueueWithPriority is Enqueue with a priority other than 0; see [LowPriority]. A key that waits is raised and never
// lowered.
func (c *Controller[K]) EnqueueWithPriority(key K, priority int) {
	c.queue.AddWithPriority(key, priority)
}

// EnqueueAfter is Enqueue once d has passed. Of two calls for the same key the sooner counts; Enqueue does not cancel it.
func (c *Controller[K]) EnqueueAfter(key K, d time.Duration) { c.queue.AddAfter(key, d) }

// Len returns how many keys wait to be reconciled now.
func (c *Controller[K]) Len() int { return c.queue.Len() }

// Run reconciles until ctx is cancelled, and then drains: what is queued is still reconciled, but nothing is retried or
// requeued. After Options.DrainTimeout the context of the reconciles that are under way is cancelled and queued keys are
// left undone. Run returns when every worker is gone; a reconcile that ignores its context holds it up.
//
// The error is nil after a complete drain, [ErrDrainTimeout] after one that was cut short, [ErrAlreadyRun] at a second call.
func (c *Controller[K]) Run(ctx context.Context) error {
	if !c.ran.CompareAndSwap(false, true) {
		return ErrAlreadyRun
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", c.opts.Name)
	// The reconciles' own context: it outlives ctx by as long as the drain may take.
	working, abandon := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logger))
	defer abandon()

	logger.Info("Starting workers", "workers", c.opts.Workers)
	var workers sync.WaitGroup
	for range c.opts.Workers {
		workers.Go(func() { c.work(working, &workers) })
	}
	<-ctx.Done()

	stats := c.queue.Stats()
	logger.Info("Draining", "queued", stats.Queued, "inProcessing", stats.Processing, "timeout", c.opts.DrainTimeout)
	deadline := time.AfterFunc(c.opts.DrainTimeout, abandon)
	c.queue.ShutDownWithDrain()
	workers.Wait()
	deadline.Stop()
	left, cut := c.leftUndone.Load(), c.cutShort.Load()
	if left == 0 && cut == 0 {
		logger.Info("Drained")
		return nil
	}
	logger.Info("Stopped before the work was done", "cutShort", cut, "leftUndone", left)
	return fmt.Errorf("%w: %q cut %d reconciles short and left %d queued keys undone", ErrDrainTimeout, c.opts.Name, cut, left)
}
