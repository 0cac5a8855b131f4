package sharedinformer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// pipeline is what shared and simple informers have in common: a queue, a store, and what becomes of errors.
//
//	ListerWatcher ─▶ Controller ─▶ applier ─▶ store
//	                     │            └──────▶ notifications
//	                     └─▶ errors of objects, errors of lists and watches
type pipeline[T listwatch.Object] struct {
	// The resync of the controller to be made.
	resyncPeriod time.Duration
	shouldResync func() bool

	opts    Options[T]
	queue   Queue[T]
	store   *store[T]
	applier applier[T]

	objectErrors atomic.Uint64
	leftOut      atomic.Bool // an object could not be read or transformed
	noteErrors   bool        // the queue is written under a lock, and reportFailed called after it
	mayRepeat    bool        // a batch may have several changes of one key
	processing   latency

	errMu  sync.Mutex // protects failed
	failed []failedObject
}

type failedObject struct {
	key key
	err error
}

// init makes the queue and the store, and returns what fills them.
func (p *pipeline[T]) init(lw listwatch.ListerWatcher[T], opts Options[T]) listwatch.ListerWatcher[T] {
	if opts.Name == "" {
		opts.Name = typeName[T]()
	}
	p.opts = opts
	keyFunc := func(obj T) (key, error) { return listwatch.KeyOf(obj), nil }
	p.store = indexer.New(indexer.Options[key, T]{
		KeyFunc:  keyFunc,
		Compare:  compareKeys,
		Indexers: withNamespaceIndex(opts.Indexers),
		OnError:  p.note,
	})
	p.applier = applier[T]{store: p.store, inOrder: opts.Queue != PerKey}
	lw, transform := opts.sharing(lw)
	queueOpts := deltafifo.Options[key, T]{
		KeyFunc:       keyFunc,
		Transform:     transform,
		OnError:       p.transformFailed,
		KeysMayRepeat: p.mayRepeat,
		Metrics:       deltafifo.Metrics{Queued: opts.Metrics.Queued, Processed: p.processed},
	}
	if opts.Queue == PerKey {
		queueOpts.Known = p.store
		p.queue = deltafifo.NewDeltaFIFO(queueOpts)
	} else {
		p.queue = deltafifo.NewInOrder(queueOpts)
	}
	return lw
}

// controller returns a controller around process. Of opts, the name and the error handler are replaced.
func (p *pipeline[T]) controller(lw listwatch.ListerWatcher[T], process func([]delta[T], bool) error, opts reflector.Options) *Controller[T] {
	cfg := ControllerConfig[T]{
		Name:          p.opts.Name,
		ListerWatcher: lw,
		Queue:         p.queue,
		Process:       process,
		Reflector:     opts,
		ResyncPeriod:  p.resyncPeriod,
		ShouldResync:  p.shouldResync,
	}
	if p.opts.Trace != nil {
		cfg.Queue = tracingQueue[T]{p.queue, p.opts.Trace}
	}
	cfg.Reflector.OnError = p.watchFailed
	return NewController(cfg)
}

// watchFailed sorts the reflector's errors: those of single objects, and those of lists and watches.
func (p *pipeline[T]) watchFailed(ctx context.Context, err error) {
	var unreadable *listwatch.ObjectError
	var refused *reflector.SinkError
	switch {
	case errors.As(err, &unreadable):
		p.objectFailed(unreadable.Key, err)
	case errors.As(err, &refused):
		p.objectFailed(refused.Key, err)
	case p.opts.WatchErrorHandler != nil:
		p.opts.WatchErrorHandler(ctx, err)
	default:
		reflector.LogError(ctx, p.opts.Name, err)
	}
}

// objectFailed counts and reports an object that could not be read or transformed. No lock may be held.
func (p *pipeline[T]) objectFailed(k key, err error) {
	p.leftOut.Store(true)
	p.reportObject(k, err)
}

// transformFailed is objectFailed for who writes the queue.
func (p *pipeline[T]) transformFailed(k key, err error) {
	if !p.noteErrors {
		p.objectFailed(k, err)
		return
	}
	p.leftOut.Store(true)
	p.note(k, err)
}

func (p *pipeline[T]) reportObject(k key, err error) {
	p.objectErrors.Add(1)
	if p.opts.OnObjectError != nil {
		p.opts.OnObjectError(k, err)
		return
	}
	klog.Background().Error(err, "Object left out", "informer", p.opts.Name, "key", k)
}

// note keeps an error until reportFailed. Index functions fail while locks are held, for one.
func (p *pipeline[T]) note(k key, err error) {
	p.errMu.Lock()
	defer p.errMu.Unlock()
	p.failed = append(p.failed, failedObject{k, err})
}

// reportFailed reports what was noted. No lock may be held.
func (p *pipeline[T]) reportFailed() {
	p.errMu.Lock()
	failed := p.failed
	p.failed = nil
	p.errMu.Unlock()
	for _, f := range failed {
		p.reportObject(f.key, f.err)
	}
}

// processed notes how long a batch took.
func (p *pipeline[T]) processed(took time.Duration) {
	p.processing.observe(took)
	if p.opts.Metrics.Processed != nil {
		p.opts.Metrics.Processed(took)
	}
}

// measure tells Metrics of the resourceVersion that the store has reached.
func (p *pipeline[T]) measure(version string) {
	if version != "" && p.opts.Metrics.StoreResourceVersion != nil {
		p.opts.Metrics.StoreResourceVersion(version)
	}
}

func withNamespaceIndex[T listwatch.Object](given indexer.Indexers[T]) indexer.Indexers[T] {
	all := indexer.Indexers[T]{NamespaceIndex: func(obj T, dst []string) ([]string, error) {
		return append(dst, obj.GetNamespace()), nil
	}}
	for name, f := range given {
		all[name] = f
	}
	return all
}
