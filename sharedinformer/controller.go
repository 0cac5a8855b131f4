package sharedinformer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	// AfterPop is called after each batch, whatever came of it, with no lock held, in Run's goroutine; nil is nothing.
	AfterPop func()
	// Reflector tunes lists and watches. Its Name is ignored.
	Reflector reflector.Options
	// Feed, if not nil, makes the source in place of a reflector. NewController calls it once.
	Feed func(ControllerConfig[T]) Feeder
	// ResyncPeriod is the time from a list, or from one Resync of the queue, to the next Resync; 0 is never.
	ResyncPeriod time.Duration
	// ShouldResync is asked each time whether to resync; nil is yes. It is called from a goroutine of its own.
	ShouldResync func() bool
}

// Controller runs a source and a queue around a process function. It has no store and no handlers. An [Informer] has a
// controller, whose process function writes the store and tells the handlers.
//
//	ListerWatcher ─▶ source ─▶ queue ─▶ Process
//	                             ▲
//	              resync timer ──┘
//
// Its methods are safe for concurrent use.
type Controller[T listwatch.Object] struct {
	cfg     ControllerConfig[T]
	source  Feeder
	life    lifecycle
	started atomic.Bool
	// listPopped (capacity 1) tells the resync timer to begin anew.
	listPopped chan struct{}
}

// Feeder is a source: it fills the queue of a controller. A *reflector.Reflector is one.
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
	cfg.Name = cmp.Or(cfg.Name, typeName[T]())
	cfg.Reflector.Name = cfg.Name
	if cfg.OnProcessError == nil {
		cfg.OnProcessError = func(ctx context.Context, err error) {
			klog.FromContext(ctx).Error(err, "Processing failed", "controller", cfg.Name)
		}
	}
	if cfg.Feed == nil {
		cfg.Feed = newReflector
	}
	source := cfg.Feed(cfg)
	return &Controller[T]{
		cfg:    cfg,
		source: source,
		life: lifecycle{
			who:       "controller " + cfg.Name,
			synced:    cfg.Queue.Synced(),
			done:      make(chan struct{}),
			whyDone:   errStopped,
			lastError: source.LastError,
		},
		listPopped: make(chan struct{}, 1),
	}
}

func newReflector[T listwatch.Object](cfg ControllerConfig[T]) Feeder {
	return reflector.New(cfg.ListerWatcher, reflector.Sink[T](cfg.Queue), cfg.Reflector)
}

// Run lists, watches and processes until ctx ends, and returns when every goroutine of the controller is gone, so not
// before Process has returned. What is queued then is not processed. A controller runs once: a second Run returns
// ErrStarted at once.
func (c *Controller[T]) Run(ctx context.Context) error { return c.run(ctx, c.cfg.ResyncPeriod) }

// run is Run with another resync period: an informer knows its own when it starts.
func (c *Controller[T]) run(ctx context.Context, resyncPeriod time.Duration) error {
	alreadyStarted := c.started.Swap(true)
	if alreadyStarted {
		return fmt.Errorf("%s: %w", c.life.who, ErrStarted)
	}
	defer close(c.life.done)
	ctx, cancel := context.WithCancel(ctx)
	// Deferred, so that a Process that ends the goroutine or panics takes the source with it. Nobody waits for the
	// source then: a panic must end the program.
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer c.cfg.Queue.Close() // releases the consumer
		c.source.Run(ctx)
	})
	if resyncPeriod > 0 {
		wg.Go(func() { c.resync(ctx, resyncPeriod) })
	}
	c.consume(ctx)
	cancel()
	wg.Wait()
	return nil
}

// consume processes what the queue gives until the queue is closed or ctx ends.
func (c *Controller[T]) consume(ctx context.Context) {
	var processed bool // Process has returned: it neither panicked, nor was it left uncalled by the queue
	process := func(deltas []delta[T], isInInitialList bool) error {
		c.restartResyncAfterList(deltas)
		err := c.cfg.Process(deltas, isInInitialList)
		processed = true
		return err
	}
	for ctx.Err() == nil {
		processed = false
		err := c.pop(ctx, process)
		if c.cfg.AfterPop != nil {
			c.cfg.AfterPop()
		}
		if !processed && errors.Is(err, deltafifo.ErrClosed) {
			return
		}
		if err != nil {
			c.cfg.OnProcessError(ctx, err)
		}
		if !processed { // Process has panicked, or the queue has failed: without a pause that would fill the log
			pauseAfterCrash(ctx.Done())
		}
	}
}

// pop blocks for a batch and calls process. A panic of process ends here if utilruntime.HandleCrash lets it pass.
func (c *Controller[T]) pop(ctx context.Context, process func([]delta[T], bool) error) error {
	defer utilruntime.HandleCrashWithContext(ctx)
	return c.cfg.Queue.PopBatch(process)
}

// restartResyncAfterList restarts the resync period if a list is among the deltas.
func (c *Controller[T]) restartResyncAfterList(deltas []delta[T]) {
	if !slices.ContainsFunc(deltas, isFromList[T]) {
		return
	}
	select {
	case c.listPopped <- struct{}{}:
	default: // the timer has not yet seen the list before
	}
}

func isFromList[T object](d delta[T]) bool {
	return d.Type == deltafifo.ReplacedAll || d.Type == deltafifo.Replaced
}

// resync has the queue resynced every period until ctx ends. The first period begins with the first list.
func (c *Controller[T]) resync(ctx context.Context, period time.Duration) {
	var periodOver <-chan time.Time // nil before the first list
	synced := c.life.synced
	for {
		select {
		case <-ctx.Done():
			return
		case <-synced: // for an empty list the per-key queue gives no batch, so listPopped does not come
			synced = nil
		case <-c.listPopped:
		case <-periodOver:
			c.resyncIfDue(ctx)
		}
		periodOver = time.After(period)
	}
}

func (c *Controller[T]) resyncIfDue(ctx context.Context) {
	if c.cfg.ShouldResync != nil && !c.cfg.ShouldResync() {
		return
	}
	klog.FromContext(ctx).V(4).Info("Forcing resync", "reflector", c.cfg.Name)
	err := c.cfg.Queue.Resync()
	if err != nil {
		c.cfg.OnProcessError(ctx, err)
	}
}

// Name returns the controller's name.
func (c *Controller[T]) Name() string { return c.cfg.Name }

// LastSyncResourceVersion returns the resourceVersion up to which the queue was given everything, "" before the first
// list.
func (c *Controller[T]) LastSyncResourceVersion() string { return c.source.LastSyncResourceVersion() }

// LastError returns the last error of a list or watch, nil once it works again.
func (c *Controller[T]) LastError() error { return c.source.LastError() }

// HasSynced reports whether Synced is closed.
func (c *Controller[T]) HasSynced() bool { return isClosed(c.life.synced) }

// Synced is closed once the first list was processed.
func (c *Controller[T]) Synced() <-chan struct{} { return c.life.synced }

// Done is closed when Run returns.
func (c *Controller[T]) Done() <-chan struct{} { return c.life.done }

// WaitForSync blocks until Synced is closed. If ctx ends or the controller stops first, the error says so, and wraps the
// cause and the last error of lists and watches.
func (c *Controller[T]) WaitForSync(ctx context.Context) error { return c.life.waitForSync(ctx) }

// typeName is T's name without its package and pointer: Service for *corev1.Service.
func typeName[T object]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
