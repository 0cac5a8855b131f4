package sharedinformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// Queue stands between a controller's reflector and its process function. Both queues of package deltafifo are one,
// with [listwatch.Key] for a key.
type Queue[T listwatch.Object] interface {
	reflector.Sink[T]
	// PopBatch blocks until there is something to process or the queue is closed and empty: then it returns
	// [deltafifo.ErrClosed]. Otherwise it returns what process does.
	PopBatch(process func(deltas []deltafifo.Delta[listwatch.Key, T], isInInitialList bool) error) error
	// Resync queues a Sync of every known object, or one SyncAll.
	Resync() error
	// Close releases a waiting PopBatch.
	Close()
	HasSynced() bool
	Synced() <-chan struct{}
	Len() int
}

// ControllerConfig is what a Controller is made of. Only ListerWatcher, Queue and Process are required.
type ControllerConfig[T listwatch.Object] struct {
	// Name is for errors and logs; by default the name of T.
	Name          string
	ListerWatcher listwatch.ListerWatcher[T]
	// Queue must be one that nobody else pops from; the controller closes it when it stops.
	Queue Queue[T]
	// Process is given what the queue pops, one batch at a time, in Run's goroutine. With a DeltaFIFO that is all that
	// happened to one key, under the queue's lock. With an InOrder it is deltas of many keys, or one ReplacedAll,
	// SyncAll or Bookmark. Unless KeysMayRepeat, no key comes twice. A BatchSize of 1 gives single deltas. The slice is
	// Process's only during the call.
	//
	// A batch that Process fails on, by an error or a panic, does not come again. A panic goes to
	// utilruntime.HandleCrash; if that lets the process live, Process is called again after a second.
	Process func(deltas []deltafifo.Delta[listwatch.Key, T], isInInitialList bool) error
	// OnProcessError is told of the errors of Process, with no lock held, in Run's goroutine. nil logs.
	OnProcessError func(ctx context.Context, err error)
	// Reflector tunes lists and watches. Its Name is ignored.
	Reflector reflector.Options
	// ResyncPeriod is the time from a list, or from one Resync of the queue, to the next Resync; 0 is never.
	ResyncPeriod time.Duration
	// ShouldResync is asked each time whether to resync; nil is yes. It is called from a goroutine of its own.
	ShouldResync func() bool
}

// Controller runs a reflector and a queue around a process function. It has no store and no handlers: an
// [Informer] is a controller with both.
//
//	ListerWatcher ─▶ reflector ─▶ queue ─▶ Process
//
// Its methods are safe for concurrent use.
type Controller[T listwatch.Object] struct {
	waitable
	cfg      ControllerConfig[T]
	feeder   Feeder
	started  atomic.Bool
	relisted chan struct{} // capacity 1: a list was popped, so the resync period begins anew

	// afterPop is called after each pop, with no lock held; may be nil.
	afterPop func()
}

// Feeder fills an informer's queue. A *reflector.Reflector is one.
type Feeder interface {
	// Run fills the queue until ctx ends. It returns when every goroutine that it started is gone.
	Run(ctx context.Context)
	// LastSyncResourceVersion returns the resourceVersion up to which the queue was given everything.
	LastSyncResourceVersion() string
	// LastError returns the last error of a list or watch, nil once it works again.
	LastError() error
	Stats() reflector.Stats
}

// NewController returns a controller that does nothing before Run. It panics without a ListerWatcher, Queue or Process.
func NewController[T listwatch.Object](cfg ControllerConfig[T]) *Controller[T] {
	if cfg.ListerWatcher == nil || cfg.Queue == nil || cfg.Process == nil {
		panic("sharedinformer: a controller needs a ListerWatcher, a Queue and a Process function")
	}
	if cfg.Name == "" {
		cfg.Name = typeName[T]()
	}
	if cfg.OnProcessError == nil {
		cfg.OnProcessError = func(ctx context.Context, err error) {
			klog.FromContext(ctx).Error(err, "Processing failed", "controller", cfg.Name)
		}
	}
	cfg.Reflector.Name = cfg.Name
	c := &Controller[T]{
		waitable: waitable{who: "controller " + cfg.Name, synced: cfg.Queue.Synced(), done: make(chan struct{})},
		cfg:      cfg,
		feeder:   reflector.New(cfg.ListerWatcher, reflector.Sink[T](cfg.Queue), cfg.Reflector),
		relisted: make(chan struct{}, 1),
	}
	c.causes = func() (ended, last error) { return ErrStopped, c.LastError() }
	return c
}

// Run lists, watches and processes until ctx ends, and returns when every goroutine of the controller is gone, so not
// before Process has returned. What is queued then is not processed. A controller runs once: a second Run returns
// ErrStarted at once.
func (c *Controller[T]) Run(ctx context.Context) error {
	if c.started.Swap(true) {
		return fmt.Errorf("%s: %w", c.who, ErrStarted)
	}
	defer close(c.done)
	ctx, cancel := context.WithCancel(ctx)
	// Deferred, so that a Process that ends the goroutine or panics takes the reflector with it. Nobody waits for the
	// reflector then: a panic must end the program.
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer c.cfg.Queue.Close() // releases the consumer
		c.feeder.Run(ctx)
	})
	if c.cfg.ResyncPeriod > 0 {
		wg.Go(func() { c.resync(ctx) })
	}
	c.consume(ctx)
	cancel()
	wg.Wait()
	return nil
}

// consume processes what the queue gives until it is closed or ctx ends. A panic of Process, or an error of the queue
// itself, is followed by a pause.
func (c *Controller[T]) consume(ctx context.Context) {
	var processed bool
	var processErr error // kept apart from the queue's
	process := func(deltas []delta[T], isInInitialList bool) error {
		if t := deltas[0].Type; t == deltafifo.ReplacedAll || t == deltafifo.Replaced {
			select {
			case c.relisted <- struct{}{}:
			default:
			}
		}
		processErr = c.cfg.Process(deltas, isInInitialList)
		processed = true
		return nil
	}
	for ctx.Err() == nil {
		var queueErr error
		processed, processErr = false, nil
		func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			queueErr = c.cfg.Queue.PopBatch(process)
		}()
		if c.afterPop != nil {
			c.afterPop()
		}
		if errors.Is(queueErr, deltafifo.ErrClosed) {
			return
		}
		if err := cmp.Or(queueErr, processErr); err != nil {
			c.cfg.OnProcessError(ctx, err)
		}
		if !processed {
			pause(ctx.Done())
		}
	}
}

// resync has the queue resynced every ResyncPeriod until ctx ends. The first period begins with the first list.
func (c *Controller[T]) resync(ctx context.Context) {
	var tick <-chan time.Time // nil before the first list
	synced := c.synced
	for {
		select {
		case <-ctx.Done():
			return
		case <-synced: // for an empty list the per-key queue gives no batch, so relisted does not come
			synced = nil
		case <-c.relisted:
		case <-tick:
			if c.cfg.ShouldResync == nil || c.cfg.ShouldResync() {
				if err := c.cfg.Queue.Resync(); err != nil {
					c.cfg.OnProcessError(ctx, err)
				}
			}
		}
		tick = time.After(c.cfg.ResyncPeriod)
	}
}

// Name returns the controller's name.
func (c *Controller[T]) Name() string { return c.cfg.Name }

// LastSyncResourceVersion returns the resourceVersion up to which the queue was given everything, "" before the first
// list. An informer's store follows: its own is [indexer.Store.ResourceVersion], which stays "" with the per-key queue.
func (c *Controller[T]) LastSyncResourceVersion() string { return c.feeder.LastSyncResourceVersion() }

// LastError returns the last error of a list or watch, nil once it works again.
func (c *Controller[T]) LastError() error { return c.feeder.LastError() }
