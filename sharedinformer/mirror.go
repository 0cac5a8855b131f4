package sharedinformer

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/deltafifo"
	"glasswatch/indexer"
	"glasswatch/internal/keys"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

type (
	object                      = listwatch.Object
	key                         = listwatch.Key
	delta[T listwatch.Object]   = deltafifo.Delta[key, T]
	storeOp[T listwatch.Object] = indexer.Op[key, T]
	// controller is embedded, so that an informer's own one is out of its users' reach.
	controller[T listwatch.Object] = Controller[T]
)

// mirror is an informer without handlers: a controller, a store, and what becomes of errors.
//
//	ListerWatcher ─▶ Controller ─▶ apply ─▶ store
//	                     │           └────▶ notifications
//	                     └─▶ errors of objects, errors of lists and watches
type mirror[T object] struct {
	*controller[T]
	opts  Options[T]
	store *indexer.Store[key, T]
	// versionsByEvent: each event moves the store's version. That is right only if they come in the order of versions.
	versionsByEvent bool
	newest          string // the store's version, as the batches have moved it

	// Scratch of the consumer, reused from batch to batch.
	ops   []storeOp[T]
	notes []notification[T]

	objectErrors atomic.Uint64
	processing   latency

	errMu  sync.Mutex // protects failed
	failed []listwatch.ObjectError
}

// init makes queue, store and a controller around process.
func (m *mirror[T]) init(
	lw listwatch.ListerWatcher[T], opts Options[T], process func([]delta[T], bool) error,
) {
	m.opts = opts
	indexers := indexer.Indexers[T]{NamespaceIndex: func(obj T, dst []string) ([]string, error) {
		return append(dst, obj.GetNamespace()), nil
	}}
	maps.Copy(indexers, opts.Indexers)
	keyFunc := func(obj T) (key, error) { return key{Namespace: obj.GetNamespace(), Name: obj.GetName()}, nil }
	m.store = indexer.New(indexer.Options[key, T]{
		KeyFunc:  keyFunc,
		Compare:  keys.Compare,
		Indexers: indexers,
		OnError:  m.noteFailure,
	})
	m.versionsByEvent = opts.Queue != PerKey && !opts.VersionsByBookmark
	queueOpts := deltafifo.Options[key, T]{
		KeyFunc:       keyFunc,
		Transform:     opts.Transform,
		OnError:       m.reportObject,
		KeysMayRepeat: true, // the store applies a batch in order, and each change makes a notification of its own
		Metrics: deltafifo.Metrics{Queued: opts.Metrics.Queued, Processed: func(took time.Duration) {
			m.processing.observe(took)
			if opts.Metrics.Processed != nil {
				opts.Metrics.Processed(took)
			}
		}},
	}
	var queue Queue[T]
	if opts.Queue == PerKey {
		queueOpts.Known = m.store
		queue = deltafifo.NewDeltaFIFO(queueOpts)
	} else {
		queue = &batchSink[T]{InOrder: deltafifo.NewInOrder(queueOpts)}
	}
	cfg := ControllerConfig[T]{
		Name:          opts.Name,
		ListerWatcher: lw,
		Queue:         queue,
		Process:       process,
		Reflector:     opts.Reflector,
		ResyncPeriod:  max(opts.ResyncPeriod, 0),
	}
	cfg.Reflector.OnError = m.watchFailed
	m.controller = NewController(cfg)
	m.opts.Name = m.cfg.Name
	m.who = "informer " + m.cfg.Name
	m.afterPop = m.endBatch
}

// watchFailed sorts the reflector's errors: those of single objects, and those of lists and watches.
func (m *mirror[T]) watchFailed(ctx context.Context, err error) {
	var unreadable *listwatch.ObjectError
	var refused *reflector.SinkError
	switch {
	case errors.As(err, &unreadable):
		m.reportObject(unreadable.Key, err)
	case errors.As(err, &refused):
		m.reportObject(refused.Key, err)
	case m.opts.WatchErrorHandler != nil:
		m.opts.WatchErrorHandler(ctx, err)
	default:
		reflector.LogError(ctx, m.opts.Name, err)
	}
}

// reportObject counts and reports an object that could not be read, transformed or indexed. No lock may be held.
func (m *mirror[T]) reportObject(k key, err error) {
	m.objectErrors.Add(1)
	if m.opts.OnObjectError != nil {
		m.opts.OnObjectError(k, err)
		return
	}
	klog.Background().Error(err, "Object left out of the store or of an index", "informer", m.opts.Name, "key", k)
}

// noteFailure keeps the error of an index function until reportFailures: the informer's mutex may be held.
func (m *mirror[T]) noteFailure(k key, err error) {
	m.errMu.Lock()
	defer m.errMu.Unlock()
	m.failed = append(m.failed, listwatch.ObjectError{Key: k, Err: err})
}

// reportFailures reports what was noted. No lock may be held.
func (m *mirror[T]) reportFailures() {
	m.errMu.Lock()
	failed := m.failed
	m.failed = nil
	m.errMu.Unlock()
	for _, f := range failed {
		m.reportObject(f.Key, f.Err)
	}
}

// Store returns the informer's store. It is for reading only: handlers hear of nothing that others write to it.
func (m *mirror[T]) Store() *indexer.Store[listwatch.Key, T] { return m.store }

// Lister returns a lister on the informer's store. It stays usable when the informer has stopped.
func (m *mirror[T]) Lister() Lister[T] { return NewLister(m.store, m.opts.Resource) }

// typeName is T's name without its package and pointer: Service for *corev1.Service.
func typeName[T object]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
